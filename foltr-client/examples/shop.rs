//! A shop in the terminal that learns what you like, without any server.
//!
//! ```sh
//! cargo run --release -p foltr-client --example shop
//! ```
//!
//! It shows products, you choose one, and it shows how that changed its ranking. All it learns is in one folder.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use foltr_client::{
    Click, Device, DeviceError, Feature, FeatureKind, FeatureSchema, Normalisation, Options, OsRandomness, Randomness,
    Shown,
};
use rand::seq::index::sample;

const HELP: &str = "\
A shop that learns what you like.

Usage: shop [--folder PATH]

  --folder PATH  where it keeps what it learnt; a folder `foltr-shop` in the system's temporary folder if absent
  --help         this text";

const COMMANDS: &str = "1-8 choose, n next, s status, p pause or resume, f forget, q quit > ";

/// Products that a query finds, and how many of them are shown.
const N_FOUND: usize = 12;
const N_SHOWN: usize = 8;

const FEATURES: [(&str, FeatureKind); 6] = [
    ("price", FeatureKind::Number),
    ("rating", FeatureKind::Number),
    ("reviews", FeatureKind::Count),
    ("on sale", FeatureKind::Flag),
    ("delivery days", FeatureKind::Count),
    ("popularity", FeatureKind::Number),
];

/// Each with its features.
const PRODUCTS: [(&str, [f32; 6]); 20] = [
    ("Alarm clock", [31.00, 4.0, 160.0, 0.0, 6.0, 17.0]),
    ("Backpack", [89.90, 4.6, 1840.0, 0.0, 2.0, 81.0]),
    ("Bicycle pump", [24.50, 4.1, 655.0, 1.0, 3.0, 44.0]),
    ("Board game", [42.99, 4.8, 3120.0, 0.0, 1.0, 90.0]),
    ("Bookshelf", [84.00, 3.9, 489.0, 1.0, 7.0, 35.0]),
    ("Camping stove", [64.95, 4.5, 730.0, 0.0, 4.0, 41.0]),
    ("Chess clock", [39.00, 4.3, 97.0, 0.0, 6.0, 12.0]),
    ("Coffee grinder", [79.90, 4.7, 2210.0, 1.0, 2.0, 77.0]),
    ("Desk lamp", [34.99, 4.0, 1105.0, 1.0, 1.0, 63.0]),
    ("Fountain pen", [54.00, 4.9, 340.0, 0.0, 5.0, 28.0]),
    ("Garden hose", [19.95, 3.6, 820.0, 1.0, 3.0, 33.0]),
    ("Headphones", [98.00, 4.5, 3400.0, 1.0, 1.0, 97.0]),
    ("Kettle", [27.90, 4.2, 1950.0, 0.0, 1.0, 70.0]),
    ("Notebook", [6.50, 4.6, 2480.0, 0.0, 1.0, 74.0]),
    ("Rain jacket", [74.00, 4.3, 610.0, 1.0, 4.0, 52.0]),
    ("Saucepan", [47.00, 4.4, 905.0, 0.0, 2.0, 49.0]),
    ("Suitcase", [92.00, 4.1, 1320.0, 0.0, 5.0, 58.0]),
    ("Table tennis bat", [15.90, 3.8, 275.0, 0.0, 7.0, 21.0]),
    ("Umbrella", [10.99, 3.4, 1490.0, 1.0, 2.0, 60.0]),
    ("Vase", [59.50, 4.2, 210.0, 0.0, 6.0, 25.0]),
];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run(&std::env::args_os().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads any more.
        Err(error) if error.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "shop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[OsString]) -> Outcome<()> {
    let mut out = io::stdout().lock();
    let folder: PathBuf = match arguments {
        [] => std::env::temp_dir().join("foltr-shop"),
        [flag] if flag == "--help" => return Ok(writeln!(out, "{HELP}")?),
        [flag, path] if flag == "--folder" => path.into(),
        _ => return Err(format!("these arguments are not understood\n\n{HELP}").into()),
    };
    let device = Device::open(&folder, options())?;
    writeln!(out, "What this shop learns is in {}.", folder.display())?;
    serve(&device, &mut io::stdin().lock(), &mut out)
}

fn options() -> Options {
    let feature = |&(name, kind): &(&str, FeatureKind)| Feature { name: name.into(), kind };
    let features = FEATURES.iter().map(feature).collect();
    let mut options = Options::new(FeatureSchema { features, normalise: Normalisation::Query });
    // As many as a person sees: the learner takes a shown product that is not chosen for one that was seen.
    options.alone.list_length = N_SHOWN;
    // Twenty times the default: nobody wants to click a hundred times to see a shop learn.
    options.alone.learner.learning_rate = 2.0;
    options
}

fn serve(device: &Device, input: &mut dyn BufRead, out: &mut dyn Write) -> Outcome<()> {
    let mut random = OsRandomness::new();
    loop {
        let query = Query::draw(device, &mut random)?;
        query.show(out)?;
        let command = ask(device, input, out)?;
        if let Command::Choose(position) = command {
            query.choose(device, position, out)?;
            continue;
        }
        device.dismiss(query.shown.impression)?;
        match command {
            Command::Pause if device.status()?.is_paused => device.resume()?,
            Command::Pause => device.pause()?,
            Command::Forget => drop(device.forget()?),
            Command::Quit => return Ok(()),
            Command::Choose(_) | Command::Next => {}
        }
    }
}

enum Command {
    Choose(usize),
    Next,
    Pause,
    Forget,
    Quit,
}

/// Asks until it understands. Who closes the input quits.
fn ask(device: &Device, input: &mut dyn BufRead, out: &mut dyn Write) -> Outcome<Command> {
    loop {
        write!(out, "\n{COMMANDS}")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            writeln!(out)?;
            return Ok(Command::Quit);
        }
        match line.trim() {
            "n" => return Ok(Command::Next),
            "p" => return Ok(Command::Pause),
            "f" => return Ok(Command::Forget),
            "q" => return Ok(Command::Quit),
            "s" => write!(out, "\n{}", device.status()?)?,
            text => match text.parse() {
                Ok(number @ 1..=N_SHOWN) => return Ok(Command::Choose(number - 1)),
                _ => writeln!(out, "That is none of the commands.")?,
            },
        }
    }
}

/// What a query finds, and the order in which it is shown.
struct Query {
    products: Vec<usize>,
    features: Vec<f32>,
    shown: Shown,
}

impl Query {
    fn draw(device: &Device, random: &mut OsRandomness) -> Outcome<Self> {
        let products = sample(random.private(), PRODUCTS.len(), N_FOUND).into_vec();
        let features: Vec<f32> = products.iter().flat_map(|&product| PRODUCTS[product].1).collect();
        let shown = device.rank(&features)?;
        Ok(Self { products, features, shown })
    }

    fn show(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n #  product            price  rating  reviews  sale  days  popularity")?;
        for (number, &found) in (1..=N_SHOWN).zip(&self.shown.order) {
            let (name, [price, rating, reviews, on_sale, days, popularity]) = PRODUCTS[self.products[found]];
            let sale = if on_sale == 1.0 { "yes" } else { "" };
            writeln!(
                out,
                "{number:>2}  {name:<16} {price:>7.2} {rating:>7.1} {reviews:>8} {sale:>5} {days:>5} {popularity:>11}"
            )?;
        }
        Ok(())
    }

    /// Learns from the choice, and shows what came of it.
    fn choose(&self, device: &Device, position: usize, out: &mut dyn Write) -> Outcome<()> {
        let before = sure_order(device, &self.features)?;
        let click = device.clicked(self.shown.impression, position)?;
        device.dismiss(self.shown.impression)?;
        let chosen = self.shown.order[position];
        writeln!(out, "\nYou chose: {}.", PRODUCTS[self.products[chosen]].0)?;
        if click != Click::Recorded {
            return Ok(writeln!(out, "The shop is paused and learnt nothing from it.")?);
        }
        writeln!(out, "\nThe shop's best guess   before  after")?;
        for (after, found) in (1..).zip(sure_order(device, &self.features)?) {
            let before = before.iter().position(|&it| it == found).map_or("-".into(), |it| (it + 1).to_string());
            let mark = if found == chosen { '*' } else { ' ' };
            writeln!(out, "{mark} {:<21} {before:>6} {after:>6}", PRODUCTS[self.products[found]].0)?;
        }
        show_taste(device, out)
    }
}

/// The model's own order of the best. A device that learns shows lists with some chance in them; a paused one does not.
fn sure_order(device: &Device, features: &[f32]) -> Result<Vec<usize>, DeviceError> {
    let was_paused = device.status()?.is_paused;
    device.pause()?;
    let shown = device.rank(features);
    if !was_paused {
        device.resume()?;
    }
    shown.map(|shown| shown.order[..shown.n_ranked].to_vec())
}

/// What the model weighs, from the most liked to the most disliked feature. A product that has only one feature, and that
/// in full, scores what the feature weighs; a product that has none scores 0.
fn show_taste(device: &Device, out: &mut dyn Write) -> Outcome<()> {
    const N: usize = FEATURES.len();
    let only = |product: usize| (0..N).map(move |feature| if product == feature + 1 { 1.0 } else { 0.0 });
    let order = sure_order(device, &(0..=N).flat_map(only).collect::<Vec<f32>>())?;
    let names = |products: &[usize]| products.iter().map(|&it| FEATURES[it - 1].0).collect::<Vec<_>>().join(", ");
    let zero = order.iter().position(|&product| product == 0).unwrap_or(N);
    writeln!(out, "\nIt likes much of: {}", names(&order[..zero]))?;
    Ok(writeln!(out, "It likes little of: {}", names(&order[zero + 1..]))?)
}
