//! What was run, by which program, on what and where: names and texts.

use super::{Report, Results};
use crate::distinct;
use crate::names::{axis_name, label_name};
use crate::table::grouped;
use foltr_experiment::spec::{ClickModel, Experiment};

pub type Fact = (String, String);

pub fn facts(results: &Results) -> Vec<Fact> {
    let settings = &results.grid.settings;
    let labels = |axis: &str| distinct(settings.iter().filter_map(|setting| setting.label(axis)));
    let axes = results.grid.axes();
    let swept: Vec<String> = axes.iter().map(|axis| format!("{} ({})", axis_name(axis), labels(axis).len())).collect();
    let methods = labels("method").join(", ");
    let learners = || each_once(results, |experiment| Some(experiment.learner.name().to_owned()));
    let budget = |experiment: &Experiment| Some(grouped(experiment.schedule()?.n_interactions() as u64));
    let clients = |experiment: &Experiment| Some(grouped(experiment.clients.as_ref()?.n_clients as u64));
    let about = &results.about;
    let all = [
        ("Data", each_once(results, |experiment| Some(experiment.data.name()))),
        ("Users", each_once(results, |experiment| experiment.users.as_ref().map(ClickModel::name))),
        ("Methods", if methods.is_empty() { learners() } else { methods }),
        ("Swept", swept.join(", ")),
        ("Settings and runs", format!("{} settings, {} runs", settings.len(), about.n_runs)),
        ("Clients", each_once(results, clients)),
        ("Interactions a run", each_once(results, budget)),
        ("Interactions of all runs", grouped(about.n_interactions)),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name.into(), value)).collect()
}

fn each_once(results: &Results, text: impl Fn(&Experiment) -> Option<String>) -> String {
    distinct(results.grid.settings.iter().filter_map(|setting| text(setting.training().ok()?))).join(", ")
}

pub fn provenance(results: &Results) -> Vec<Fact> {
    let about = &results.about;
    let seconds = about.training_seconds;
    let mut facts = vec![
        ("Version of foltr".into(), about.version.clone()),
        ("Hash of its code".into(), about.code_hash.clone()),
        ("Training time".into(), format!("{seconds:.1} s, the sum of all runs, without evaluation")),
    ];
    facts.extend(about.data.iter().map(|(name, hash)| (format!("Data: {name}"), hash.clone())));
    facts.extend(about.starts.iter().enumerate().map(|(idx, start)| {
        let machine = &start.machine;
        let shard = start.shard.as_ref().map(|shard| format!(", share {shard}")).unwrap_or_default();
        let text = format!(
            "{} runs in {:.1} s with {} threads{shard}; {}, {} logical processors, {}",
            start.n_finished, start.seconds, start.threads, machine.processor, machine.n_processors, machine.system
        );
        (format!("Start {}", idx + 1), text)
    }));
    facts
}

pub fn commands(report: &Report) -> Vec<String> {
    let again = |name: &str| quoted(&format!("{name}-again"));
    let names = || report.resolved.iter().map(|(name, _)| name);
    let run = |name: &String| format!("foltr run {} --out {}", quoted(&format!("{name}/resolved.toml")), again(name));
    let all = names().map(|name| again(name)).collect::<Vec<_>>().join(" ");
    let out = if report.resolved.len() > 1 { " --out report" } else { "" };
    names().map(run).chain([format!("foltr report {all}{out}")]).collect()
}

/// A path as a shell wants it.
fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+".contains(letter);
    if path.chars().all(is_plain) { path.into() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

pub fn missing(results: &Results) -> Vec<String> {
    let lacking = |setting: usize| {
        let about = &results.grid.settings[setting];
        let start = format!("{} fold ", about.experiment.data_name());
        let is_fold = |key: &&String| key.strip_prefix(&start).is_some_and(|fold| fold.parse::<usize>().is_ok());
        let n_folds = results.about.data.keys().filter(is_fold).count();
        let (n, planned) = (results.runs_of(setting).count(), n_folds * about.experiment.seeds_of_runs().len());
        (n < planned).then(|| format!("{}: {n} of {planned} runs", setting_name(results, setting)))
    };
    (0..results.grid.settings.len()).filter_map(lacking).collect()
}

/// All labels of a setting in one line; the learner where it has none.
pub fn setting_name(results: &Results, setting: usize) -> String {
    let about = &results.grid.settings[setting];
    if about.labels.is_empty() {
        return method(results, setting);
    }
    about.labels.iter().map(|(axis, label)| label_name(axis, label)).collect::<Vec<_>>().join(", ")
}

pub fn method(results: &Results, setting: usize) -> String {
    let experiment = &results.grid.settings[setting].experiment;
    experiment.training().map_or_else(|| "mimic".into(), |it| foltr_experiment::spec::label(&it.learner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted_whatever_the_folder_is_called() {
        assert_eq!(quoted("out/fpdgd-1.2"), "out/fpdgd-1.2");
        assert_eq!(quoted("it's; mine"), r"'it'\''s; mine'");
    }
}
