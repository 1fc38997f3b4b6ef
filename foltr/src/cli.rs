//! The command line: what can be asked for, and how it is explained.

mod cache;
mod mimic;
mod ranking;
mod report;
mod tune;
mod unlearn;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use foltr_experiment::execute::Shard;
use foltr_experiment::spec::{SyntheticShape, choice};

pub use cache::CacheCommand;
pub use mimic::{IndexArgs, MimicArgs, MimicCommand, SearchArgs};
pub use ranking::{EvaluateArgs, Ids, InterleaveArgs, ModelsArgs, QrelsArgs, RankArgs, SelectionArgs};
pub use report::ReportArgs;
pub use tune::TuneArgs;
pub use unlearn::{ReceiptCommand, UnlearnArgs};

const AFTER_HELP: &str = "\
Examples:
  foltr
      trains four methods on built-in data; table on the screen, figure in out/
  foltr --seeds 10 --out results
      the same with ten runs each: narrower confidence bands
  foltr run specs/fpdgd-synthetic.toml --out out/fpdgd
      runs an experiment file on generated data
  FOLTR_DATA=~/letor foltr run specs/foltr-es-mq2008.toml --out out/es
      runs one on ~/letor/MQ2008
  foltr tune specs/paper-table.toml --out out/tuned
      chooses a rate for each method on validation queries, and reports it on test queries
  foltr report out/fpdgd
      puts the results of a folder on one page: out/fpdgd/report.html
  foltr models out/fpdgd
      lists the trained rankers of a result folder
  foltr evaluate out/fpdgd --metric map --split test
      measures each of them on its own fold
  foltr evaluate model.safetensors MQ2008 --fold 1
      measures one on the test queries of ~/letor/MQ2008/Fold1
  foltr interleave new/model.safetensors old/model.safetensors MQ2008 --fold 1 --users informational
      says which of two rankers these users prefer, by clicks on lists of both
  foltr rank model.safetensors MQ2008 --fold 1 --out ranked.run
      writes its rankings for trec_eval and others
  foltr privacy explain specs/fpdgd-dp-mq2007.toml
      says what that experiment hides, from whom, and what it does not
  foltr data generate --shape mq2007 --seed 1 --out my-data
      writes LETOR files
  foltr data check my-data
      says the first thing wrong in each LETOR file, with its line
  foltr reproduce foltr-es-table-2 fpdgd-figure-2 --quick
      runs entries of the papers again with small budgets and judges the results
  foltr audit --out out/audit
      tries to refute the privacy labels; ends with code 1 if one is wrong
  foltr scorecard --quick --out out/scorecard
      runs every attack against every defence; tables, heat maps and verdicts
  foltr unlearn out/fpdgd --client 3 --method fed-eraser --with interval=5 --with steps=4
      forgets a client in finished runs of an experiment with `[history]`; writes signed receipts
  foltr mimic run specs/mimic/demo.toml --out out/mimic
      trains teachers, labels public queries with them, trains students, and judges all
  foltr list
      prints every learner, user, metric, ... that a file can name

Exit codes:
  0    done
  1    a run, a check or a file operation failed, or a result of a paper was not reproduced
  2    wrong usage or wrong experiment file; nothing was run
  130  interrupted (Ctrl-C); rerun the same command to resume";

/// Federated online learning to rank: simulate it exactly and fast.
///
/// Without a command, foltr runs its main job: it trains centralised PDGD, FPDGD, FPDGD with server momentum and
/// FOLtR-ES under three kinds of simulated users on built-in synthetic data, and ends with a table and a figure.
#[derive(Debug, Parser)]
#[command(name = "foltr", version, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub main_job: MainJob,
    /// Threads to use; all cores when absent. Results do not depend on it. `bench` uses its own threads.
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// No progress, and no lines about where results are; results, warnings and errors are printed.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// One JSON document on standard output instead of text (docs/json.md).
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MainJob {
    /// Main job: folder for the figure (SVG and PNG), rows.csv and summary.json [default: out].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Main job: runs of every method under every kind of users; confidence bands need two [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: Option<u64>,
}

impl Cli {
    /// Reads the command line. What is wrong, and help that was asked for, is an error of clap.
    pub fn read() -> Result<Self, clap::Error> {
        let cli = Self::try_parse()?;
        // A flag that does nothing would be worse than an error.
        if cli.command.is_some() && (cli.main_job.out.is_some() || cli.main_job.seeds.is_some()) {
            let message = "--out and --seeds before a command are for the main job; write them behind the command";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        if cli.json
            && let Some(Command::Completions { .. } | Command::Man { .. }) = cli.command
        {
            let message = "completions and man have no result that could be a JSON document";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        if let Some(Command::Evaluate(arguments)) = &cli.command
            && let Some((kind, message)) = arguments.problem()
        {
            return Err(Self::command().error(kind, message));
        }
        Ok(cli)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment file and everything that it sweeps.
    ///
    /// The file says what is trained on what, by whom, and what is measured; the README explains one line by line. Any
    /// value may be a list: the runs of all settings, folds and seeds go side by side. The file is checked as a whole
    /// before any work. Results: resolved.toml (what was run), rows.csv (one number a line), summary.json (mean,
    /// deviation and 95 % interval of every setting), run.json (version, data, machine, time), runs/ (every run with its
    /// model). After Ctrl-C or a crash the same command continues: finished runs are not done again. If the file has
    /// sections `[[expect]]`, the results are judged: verdict.json, figures, and code 1 if an expectation fails.
    Run(RunArgs),
    /// Choose swept values on validation queries, then report the choice on test queries.
    ///
    /// For every combination of the other axes, the values with the highest mean over folds and seeds on validation
    /// queries are chosen; of equal ones the first of the file. Candidates are never evaluated on test queries. What was
    /// chosen then runs with the seeds of the file, as `foltr run` would run it: DIR has its tables, DIR/chosen.csv what
    /// was chosen, DIR/choice the candidates. Rerun the same command to resume.
    Tune(TuneArgs),
    /// Join result folders of one command, such as the shards of several machines.
    ///
    /// Folders of `run`, `tune`, `mimic run`, `scorecard` and `reproduce` are joined with all their studies. The merged folder
    /// has the bytes that one machine would have written; the same command without --shard judges it.
    Merge {
        /// Result folders.
        #[arg(value_name = "DIR", required = true)]
        folders: Vec<PathBuf>,
        /// Folder for all results; made if needed.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Also write the rows as rows.parquet; needs a build with the feature `parquet`.
        #[arg(long)]
        parquet: bool,
    },
    /// Put the results of folders on one page that opens without a network: tables, tests, curves, settings.
    ///
    /// Writes DIR/report.html, which is complete in itself, the tables as LaTeX, CSV and Markdown in DIR/tables, and the
    /// figures as SVG, PNG and PDF in DIR/figures. Of several folders the folder is an axis; settings are compared where
    /// their data agree. Settings are compared with a baseline by t-tests: over runs, paired where folds and seeds pair up,
    /// else Welch's; and over queries, paired, of means over seeds; Bonferroni-corrected.
    Report(ReportArgs),
    /// List the trained rankers of a result folder: setting, fold, seed, kind, features, data, value, file.
    Models(ModelsArgs),
    /// Measure trained rankers on labelled queries.
    ///
    /// Of a result folder, every ranker is measured on its own fold as its run did it: same data, scaling, metrics and
    /// conventions, so that the values are those of the run's last rows; options ask for others. A model file is measured
    /// on DATA, every split of every fold by itself; to judge it by queries that it has not seen, name the fold that it was
    /// trained on. Features are scaled as they were in training.
    Evaluate(EvaluateArgs),
    /// Compare two trained rankers by the clicks of simulated users on lists of both.
    ///
    /// Every list is for a query drawn at random and has documents of both rankers. Printed are the lists that each ranker
    /// won, the mean preference for the first one (from -1 to 1) with its 95 % interval, and, of team drafts, the exact
    /// two-sided sign test of the lists that were won.
    Interleave(InterleaveArgs),
    /// Rank the documents of all queries with a trained ranker; write a run file for trec_eval and others.
    ///
    /// Documents are called as the data calls them, in comments such as `#docid = GX020-25-8391882`; where it does not, by
    /// query and place: 18219-000007 is the seventh document of query 18219. Other tools order equal scores by name;
    /// `--scores rank` leaves none.
    Rank(RankArgs),
    /// Write the labels of all documents as qrels for trec_eval and others.
    Qrels(QrelsArgs),
    /// Run tables, figures and questions of the papers again, and say where our results agree.
    ///
    /// Every entry runs its experiment files (those of specs/ are built in), prints each number beside the paper's with
    /// a verdict, checks what the paper concluded, and draws its figure. Numbers on other data than the paper's are
    /// printed, but not judged. DIR/ID/verdict.json has all verdicts. Rerun the same command to resume. Ends with code 1 if a comparable number differs or a conclusion fails.
    #[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
    Reproduce {
        /// Entries, such as foltr-es-table-3.
        #[arg(value_name = "ID", group = "which")]
        ids: Vec<String>,
        /// Every entry.
        #[arg(long, group = "which", conflicts_with = "ids")]
        all: bool,
        /// Print all entries instead of running any.
        #[arg(long, group = "which", conflicts_with_all = ["ids", "all"])]
        list: bool,
        /// Smaller budgets: all entries in about ten minutes on two cores.
        #[arg(long)]
        quick: bool,
        /// A value in place of the one in the files, such as federation.rounds=100; judged like the whole budget.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        overrides: Vec<String>,
        /// Only estimate the hours that entries have left in DIR; a later --write-summary lists them.
        #[arg(long, conflicts_with_all = ["shard", "write_summary"])]
        dry_run: bool,
        /// Folder for runs, verdicts and figures; made if needed.
        #[arg(long, value_name = "DIR", default_value = "out/reproduce")]
        out: PathBuf,
        /// Do only the I-th of N shares of the runs and judge nothing; `foltr merge` joins the folders, and the same
        /// command without --shard judges the merged one.
        #[arg(long, value_name = "I/N", conflicts_with = "write_summary")]
        shard: Option<Shard>,
        /// Write what all verdicts in DIR say to a file in Markdown; alone, nothing is run.
        #[arg(long, value_name = "FILE", group = "which")]
        write_summary: Option<PathBuf>,
        /// The commit that the runs in DIR were made at, for the summary.
        #[arg(long, value_name = "HASH", requires = "write_summary")]
        commit: Option<String>,
    },
    /// Try to refute the privacy labels, and show that wrong ones are refuted.
    ///
    /// Certifies lower bounds of epsilon from what federations with every mechanism, mode and way to take part show, checks
    /// the norms of messages, recovers clicks from what a server sees, and tests the law of every sampler; beside
    /// mechanisms that are broken on purpose and must be caught. Every row says the smallest error that it detects.
    /// Writes audit.json (all verdicts), inversion.csv and a figure into DIR. Ends with code 1 if a label is violated or a
    /// broken mechanism was missed.
    Audit {
        /// Folder for verdicts and the figure; made if needed. Without it only the table is printed.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// The same seed gives the same samples.
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// Only rows whose name has this in it, such as PrivUnit; their numbers are those of the whole audit.
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Measure the smallest error that each row detects in 19 of 20 audits, instead: docs/audit-power.md. Takes about
        /// as long as twenty audits.
        #[arg(long)]
        power: bool,
    },
    /// Run every attack against every defence, by share of attackers and kind of user.
    ///
    /// The study specs/scorecard.toml: what is left of the gain under the worst attack, what each defence costs without
    /// attackers, and where promoted documents end up; heat maps and verdicts into DIR. Rerun the same command to resume.
    Scorecard {
        /// Other cards: settings (clients that differ, lost messages, a network), cross-device (a few of many clients a
        /// round) or foltr-es (the other learner).
        #[arg(long, value_name = "NAME")]
        setting: Option<String>,
        /// One collection, one fold, fewer rounds and 40 % attackers: minutes instead of days.
        #[arg(long)]
        quick: bool,
        /// A value in place of the one in the file, such as users.preset=perfect.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        overrides: Vec<String>,
        /// Folder for runs, verdicts and figures; made if needed.
        #[arg(long, value_name = "DIR", default_value = "out/scorecard")]
        out: PathBuf,
        /// Do only the I-th of N shares of the runs and judge nothing; `foltr merge` joins the folders, and the same
        /// command without --shard judges the merged one.
        #[arg(long, value_name = "I/N")]
        shard: Option<Shard>,
    },
    /// Forget clients in finished runs: a new model, a history without them, a signed receipt.
    ///
    /// The runs must be of an experiment with `[history]`. Files of a run change all at once or not at all. The receipt says
    /// who was forgotten, how, what that guarantees, and from which model to which; `foltr receipt verify` checks it.
    Unlearn(UnlearnArgs),
    /// Mimic learning: share a model instead of the data.
    ///
    /// A data owner trains teachers on private queries, labels public ones with them (with noise), trains a student on
    /// those labels and shares only the student; on text or on feature files. Every step reads the same experiment file
    /// and the same folder; `run` does all of them. After Ctrl-C the same command goes on where it was.
    #[command(subcommand)]
    Mimic(MimicCommand),
    /// Index a text collection for `foltr search`.
    Index(IndexArgs),
    /// Search an index by BM25 and, with a model, see how the model ranks the same documents.
    Search(SearchArgs),
    /// Check deletion receipts.
    #[command(subcommand)]
    Receipt(ReceiptCommand),
    /// Say what an experiment hides, and from whom.
    #[command(subcommand)]
    Privacy(PrivacyCommand),
    /// Say how to start the demonstration of a federation that really runs: a server, devices and a page to watch them.
    ///
    /// It is a program of its own: this one has the laboratory, and no server.
    Demo,
    /// Generate, check or describe labelled data.
    #[command(subcommand)]
    Data(DataCommand),
    /// Show or empty the cache of parsed data.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Print everything that an experiment file can name, with one line of explanation each.
    List,
    /// Print the JSON schema of experiment files, for editors that complete and check while one types.
    Schema,
    /// Print a script that lets a shell complete commands and options.
    ///
    /// For bash: foltr completions bash > ~/.local/share/bash-completion/completions/foltr
    Completions {
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands into a folder.
    ///
    /// To read them by `man foltr` and `man foltr-run`: foltr man --out ~/.local/share/man/man1
    Man {
        /// Folder for a page of every command; made if needed, pages in it are replaced.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Measure how fast this machine trains and evaluates.
    Bench {
        /// Measure the aggregation rules of the scorecard instead.
        #[arg(long)]
        rules: bool,
        /// Measure how costs grow with clients, runs and rounds instead, as a section of BENCHMARKS.md.
        #[arg(long, conflicts_with = "rules")]
        growth: bool,
        /// Only cases, rules or costs whose name has this in it.
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// One measurement of memory of `--growth`, which needs a process of its own.
        #[arg(long, hide = true, value_name = "PART")]
        growth_part: Option<String>,
    },
}

#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// Experiment file.
    #[arg(value_name = "SPEC.toml")]
    pub spec: PathBuf,
    /// Folder for the results; made if needed.
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    pub out: Option<PathBuf>,
    /// A value in place of the one in the file, such as users.preset=perfect or 'clients.interactions=[2, 4, 8]'.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// With the values of the file's section `[quick]`.
    #[arg(long)]
    pub quick: bool,
    /// Only say what would be run, how long it would take and how much memory it needs.
    #[arg(long)]
    pub dry_run: bool,
    /// Do only the I-th of N shares of the runs; `foltr merge` joins the folders.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Also write the rows as rows.parquet; needs a build with the feature `parquet`.
    #[arg(long)]
    pub parquet: bool,
    /// Train again, with all clients, what clients were forgotten in by `foltr unlearn`.
    #[arg(long)]
    pub retrain_forgotten: bool,
}

#[derive(Debug, Subcommand)]
pub enum PrivacyCommand {
    /// Explain an experiment file: what is hidden, from whom, under which assumptions, and what the papers claim.
    ///
    /// Nothing is run. Every setting of a grid is explained; equal explanations are printed once. Epsilon bounds how much
    /// likelier anything that an observer sees can become by what a client did; a pair has the delta beside it. Data is
    /// read only where a number depends on its width.
    Explain {
        /// Experiment file.
        #[arg(value_name = "SPEC.toml")]
        spec: PathBuf,
        /// A value in place of the one in the file, such as privacy.clip=paper.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        overrides: Vec<String>,
        /// Delta of guarantees that need one [default: that of the file, else 1e-5].
        #[arg(long, value_name = "DELTA", value_parser = delta)]
        delta: Option<f64>,
    },
}

#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Write synthetic data as LETOR text: train.txt, vali.txt and test.txt.
    Generate {
        /// What the queries look like: tiny, mq2007, mslr, yahoo or istella.
        #[arg(long, value_parser = choice::<SyntheticShape>, value_name = "SHAPE")]
        shape: SyntheticShape,
        /// Training queries; the shape's usual number when absent, and always for validation and test queries.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        queries: Option<u32>,
        /// The same seed gives the same data.
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        seed: u64,
        /// Folder; made if needed, files in it are replaced.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Read LETOR data and say the first thing wrong in each file: line, value, and what would be right.
    Check {
        /// Files, or folders in LETOR layout. Looked up here, then below FOLTR_DATA.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
        /// The largest label, where it is above 4.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=31))]
        max_label: Option<u8>,
    },
    /// Read LETOR data and describe it: queries, documents, features, labels.
    Info {
        /// Files, or folders in LETOR layout. Looked up here, then below FOLTR_DATA.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
        /// The largest label, where it is above 4.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=31))]
        max_label: Option<u8>,
    },
}

fn delta(text: &str) -> Result<f64, String> {
    let delta = text.parse().ok().filter(|&delta| 0.0 < delta && delta < 1.0);
    delta.ok_or_else(|| "must be above 0 and below 1".to_owned())
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}
