//! Pictures to look at: `FOLTR_PICTURES=folder`.

use std::path::Path;
use std::time::{Duration, SystemTime};

use foltr_test::browser::browser;

use super::chromium::Chromium;
use super::world::World;

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// Name, age and text.
const FILES: &[(&str, u64, &str)] = &[
    (
        "Home/Flat/lease.md",
        420 * DAY,
        "# Lease, Garden Street 12\n\n## Rent and deposit\n\nThe rent is 940 a month, due on the third working day. The deposit \
         of three months' rent is paid back within six months after the keys were handed over.\n\n## Notice\n\nThree months.",
    ),
    (
        "Home/Flat/handing over the keys.txt",
        40 * DAY,
        "Checklist for handing over the keys\n\nread the meters, photographs of all rooms, ask when the deposit comes back, \
         leave the second set of keys with Mrs Lind",
    ),
    (
        "Mail/2026/deposit.eml",
        3 * DAY,
        "From: Ruth Lind <ruth.lind@example.org>\nSubject: Your deposit\nDate: Sun, 15 Nov 2026 09:12:00 +0000\n\nDear Ada, \
         the deposit for Garden Street was sent back to your account today, less 38 for the cleaning of the windows. With \
         kind regards, Ruth Lind\n",
    ),
    (
        "Home/money 2026.md",
        DAY + HOUR,
        "# Money, 2026\n\n- deposit of the old flat: still to come\n- deposit of the new flat: paid in August\n- bicycle: sell \
         before winter",
    ),
    (
        "Saved/tenants and deposits.html",
        90 * DAY,
        "<html><head><title>How long a landlord may keep a deposit</title></head><body><h1>How long a landlord may keep a \
         deposit</h1><p>There is no fixed time. Courts have mostly held that three to six months are enough to see which \
         claims are left, and that a part of the deposit may be kept for charges that are still to be settled.</p></body></html>",
    ),
    (
        "Projects/budget/deposit.py",
        12 * DAY,
        "\"\"\"Interest of a deposit, month by month.\"\"\"\n\n\ndef balance(deposit, rate, months):\n    return deposit * (1 + rate / 12) ** months\n",
    ),
    ("Travel/boat on the lake.txt", 200 * DAY, "The boat needs a deposit of 150 in cash. It comes back with the boat."),
    (
        "Recipes/sourdough.md",
        30 * DAY,
        "# Sourdough\n\nFeed the starter the evening before. 450 g of flour, 320 g of water.",
    ),
    ("Travel/packing.txt", 8 * DAY, "passport, charger, rain jacket, the small tripod"),
];

fn pdf(text: &str) -> String {
    let content = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    let (mut file, mut table) = ("%PDF-1.4\n".to_owned(), "0000000000 65535 f \n".to_owned());
    for (at, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", at + 1);
    }
    let start = file.len();
    file + &format!("xref\n0 6\n{table}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n")
}

fn world() -> World {
    let files: Vec<(&str, &str)> = FILES.iter().map(|(name, _, text)| (*name, *text)).collect();
    let world = World::with(&files);
    let text = "Statement of the deposit, Garden Street 12. Paid in: 2820. Interest: 41. Windows: 38. Paid back: 2823.";
    world.write("Home/Flat/statement of the deposit.pdf", &pdf(text));
    world.write("Home/Flat/old scan.pdf", "%PDF-1.4\nnothing of this can be read");
    world.write("Projects/budget/table.txt", "binary\0\0\0");
    let ages =
        FILES.iter().map(|(name, age, _)| (*name, *age)).chain([("Home/Flat/statement of the deposit.pdf", 2 * DAY)]);
    for (name, age) in ages {
        let file = std::fs::File::options().write(true).open(world.files.join(name)).expect("there");
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("set");
    }
    world.scan();
    for words in ["deposit", "keys", "sourdough", "deposit"] {
        let answer = world.search(words);
        let body = serde_json::json!({ "list": answer["list"], "document": answer["hits"][0]["document"] });
        world.call("opened", &body);
        world.call("left", &serde_json::json!({ "list": answer["list"] }));
    }
    world
}

#[test]
fn pictures_can_be_taken() {
    let Some(folder) = std::env::var_os("FOLTR_PICTURES") else { return };
    let Some(program) = browser() else { return };
    let (folder, world, empty) = (Path::new(&folder), world(), World::with(&[]));
    let mut browser = Chromium::start(&program);
    for (width, height) in [(400, 860), (1400, 900), (1200, 860)] {
        for is_dark in [false, true] {
            browser.size(width, height);
            browser.dark(is_dark);
            let scheme = if is_dark { "dark" } else { "light" };
            let file = |page: &str| folder.join(format!("{page}-{width}-{scheme}.png"));
            browser.go(&empty.url());
            browser.picture(&file("first"));
            browser.go(&world.url());
            browser.picture(&file("start"));
            browser.write("deposit");
            browser.until("document.querySelectorAll('#list > li').length > 5");
            browser.press("ArrowDown");
            browser.press("ArrowDown");
            browser.picture(&file("results"));
            browser.alt('w');
            browser.until("!document.getElementById('why').hidden");
            std::thread::sleep(Duration::from_millis(300));
            browser.picture(&file("why"));
            browser.go(&(world.url() + "?q=nothingness"));
            browser.until("document.getElementById('said').textContent !== ''");
            browser.picture(&file("nothing"));
            browser.go(&(world.url() + "forget"));
            browser.picture(&file("forget"));
            browser.go(&(world.url() + "privacy"));
            browser.eval("document.querySelectorAll('details').forEach((it) => (it.open = true))");
            browser.size(width, if width < 500 { 3600 } else { 2300 });
            browser.picture(&file("privacy"));
        }
    }
}
