//! The shop learns what a person likes, and does what its commands say.

use std::path::Path;

use foltr_test::campaign_size;

use crate::example::{Conversation, example};

const N_QUERIES: usize = 30;

fn open(folder: &Path) -> (Conversation, String) {
    let mut shop = Conversation::start(example("shop").arg("--folder").arg(folder));
    let first = shop.listen();
    (shop, first)
}

/// The prices of the table that is shown last, in its order.
fn prices(said: &str) -> Vec<f64> {
    let table = said.rsplit("popularity\n").next().expect("there is a last part");
    let price = |line: &str| line.split_whitespace().find(|word| word.contains('.') && word.len() > 3)?.parse().ok();
    let prices: Vec<f64> = table.lines().map_while(price).collect();
    assert_eq!(prices.len(), 8, "{said}");
    prices
}

/// The place of the cheapest product that is shown, from 1.
fn cheapest(said: &str) -> usize {
    let prices = prices(said);
    let places = 0..prices.len();
    places.min_by(|&one, &other| prices[one].total_cmp(&prices[other])).expect("eight products") + 1
}

/// Always chooses the cheapest product. The mean place of the cheapest one in the first and in the last ten queries.
fn buy_cheap(folder: &Path) -> (f64, f64) {
    let (mut shop, mut said) = open(folder);
    let mut places = Vec::new();
    for _ in 0..N_QUERIES {
        let place = cheapest(&said);
        places.push(place as f64);
        said = shop.say(&place.to_string());
    }
    shop.end(Some("q"));
    let mean = |places: &[f64]| places.iter().sum::<f64>() / places.len() as f64;
    (mean(&places[..10]), mean(&places[N_QUERIES - 10..]))
}

/// Mean places over so many shops, each with a new folder.
fn buy_cheap_in(n_shops: usize) -> (f64, f64) {
    let means = (0..n_shops).map(|_| buy_cheap(tempfile::tempdir().expect("a folder").path()));
    let (first, last) = means.fold((0.0, 0.0), |sum, mean| (sum.0 + mean.0, sum.1 + mean.1));
    (first / n_shops as f64, last / n_shops as f64)
}

/// Chance would put the cheapest of eight at 4.5. In 200 shops its mean place was 3.47 in the first ten queries and 2.17 in the
/// last ten, with a standard deviation of .48 in the last and .78 in the difference. For ten shops the limits are 6.8 and 5.3
/// standard deviations away: if means of ten are normal, they fail by chance with a probability below 1e-6.
#[test]
fn who_always_buys_the_cheapest_finds_it_further_up() {
    let n_shops = campaign_size(10, 200);
    let (first, last) = buy_cheap_in(n_shops);
    println!("| shop | {n_shops} shops | the cheapest product at {first:.2}, then at {last:.2} | |");
    assert!(last < first && last < 3.2, "the cheapest product was at {first} first, and is at {last}");
}

#[test]
fn a_second_start_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    buy_cheap(folder.path());
    let (mut shop, said) = open(folder.path());
    assert!(shop.say("s").contains("learnt from 31 lists"), "30 choices, and the list that was open at the end");
    let said = shop.say(&cheapest(&said).to_string());
    let dislikes = said.lines().find(|line| line.starts_with("It likes little of: ")).expect("what it dislikes");
    assert!(dislikes.contains("price"), "{said}");
    shop.end(Some("q"));
}

#[test]
fn a_choice_shows_what_it_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut shop, _) = open(folder.path());
    let said = shop.say("3");
    for part in ["You chose: ", "before  after", "\n* ", "It likes much of: ", "It likes little of: "] {
        assert!(said.contains(part), "{part:?} is missing in {said}");
    }
    shop.end(Some("q"));
}

#[test]
fn commands_do_what_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut shop, first) = open(folder.path());
    assert!(first.contains(&folder.path().display().to_string()), "{first}");
    assert!(shop.say("1").contains("You chose: "));
    assert!(shop.say("n").contains("popularity\n"));
    assert!(shop.say("s").contains("learnt from 2 lists"), "a choice, and a list without one");
    for nonsense in ["0", "9", "x", ""] {
        assert!(shop.say(nonsense).contains("none of the commands"), "{nonsense:?}");
    }
    shop.say("p");
    assert!(shop.say("1").contains("learnt nothing"));
    let status = shop.say("s");
    assert!(status.contains("Paused") && status.contains("learnt from 3 lists"), "{status}");
    shop.say("p");
    assert!(!shop.say("s").contains("Paused"));
    shop.say("f");
    assert!(shop.say("s").contains("learnt from 0 lists"));
    assert!(shop.say("2").contains("You chose: "), "it learns anew");
    shop.end(Some("q"));
}

#[test]
fn a_pause_outlives_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut shop, _) = open(folder.path());
    shop.say("p");
    shop.end(Some("q"));
    let (mut shop, _) = open(folder.path());
    assert!(shop.say("s").contains("Paused"));
    shop.end(None);
}

#[test]
fn closed_pipes_end_it_quietly() {
    let folder = tempfile::tempdir().expect("a folder");
    let (shop, _) = open(folder.path());
    assert_eq!(shop.end(None).trim(), "");
    let (shop, _) = open(folder.path());
    shop.end_unheard("s");
}

#[test]
fn it_explains_itself() {
    let help = example("shop").arg("--help").output().expect("the example runs");
    assert!(help.status.success() && help.stdout.starts_with(b"A shop that learns"));
    for arguments in [&["--folder"][..], &["--nonsense"]] {
        let refused = example("shop").args(arguments).output().expect("the example runs");
        assert!(!refused.status.success() && refused.stdout.is_empty());
        assert!(refused.stderr.starts_with(b"shop: "), "{}", String::from_utf8_lossy(&refused.stderr));
    }
}
