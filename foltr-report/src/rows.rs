//! `rows.csv`: one value per line, with the labels of its setting. Rows go from the runs to the file a line at a time.

use std::io::Write;

use anyhow::Result;

use foltr_experiment::results::{Results, Run};
use foltr_experiment::spec::ClickModel;

/// Columns of the setting; seed, fold, round, metric and value follow.
pub fn setting_columns(results: &Results) -> Vec<String> {
    ["data", "users", "learner"].map(str::to_owned).into_iter().chain(results.grid.axes()).collect()
}

/// Under [`setting_columns`].
pub fn setting_fields(results: &Results, setting: usize) -> Vec<String> {
    let setting = &results.grid.settings[setting];
    let experiment = &setting.experiment;
    let users = experiment.training().and_then(|it| it.users.as_ref()).map(ClickModel::name).unwrap_or_default();
    let labels = results.grid.axes().into_iter().map(|axis| setting.label(&axis).unwrap_or_default().to_owned());
    [experiment.data_name(), users, experiment.learner_name().to_owned()].into_iter().chain(labels).collect()
}

pub fn write_csv(results: &Results, out: &mut impl Write) -> Result<()> {
    let columns = setting_columns(results);
    writeln!(out, "{},seed,fold,round,metric,value", csv_line(&columns)?)?;
    for run in &results.runs {
        let start = csv_line(&setting_fields(results, run.setting))?;
        let Run { seed, fold, .. } = run;
        run.rows.visit(|row| Ok(writeln!(out, "{start},{seed},{fold},{},{},{}", row.round, row.metric, row.value)?))?;
    }
    Ok(())
}

fn csv_line(fields: &[String]) -> Result<String> {
    let mut csv = csv::Writer::from_writer(vec![]);
    csv.write_record(fields)?;
    let line = String::from_utf8(csv.into_inner()?)?;
    Ok(line.strip_suffix('\n').unwrap_or(&line).to_owned())
}
