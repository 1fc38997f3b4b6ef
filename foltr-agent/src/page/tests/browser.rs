//! What a person does with the page, in a real browser if there is one.

use std::path::Path;

use foltr_test::browser::browser;

use super::chromium::Chromium;
use super::hostile;
use super::world::World;

const JUDGE: &str = include_str!("judge.js");

const FILES: &[(&str, &str)] = &[
    ("home/lease.md", "# Lease of the flat\n\nThe rent is due on the first day of a month."),
    ("home/renting a boat.txt", "The boat can be rented by the day. Rent: 40."),
    ("code/rent.py", "def rent(days):\n    return 40 * days\n"),
    (
        "mail/landlord.eml",
        "From: Ida <ida@example.org>\nSubject: Rent in May\nDate: Mon, 3 May 2021 10:00:00 +0000\n\nThank you for the rent.\n",
    ),
    ("garden.txt", "tomatoes want sun"),
];

const ROWS: &str = "document.querySelectorAll('#list > [role=option]')";

struct Visit {
    world: World,
    browser: Chromium,
}

impl Visit {
    fn to(world: World, program: &Path) -> Self {
        let mut browser = Chromium::start(program);
        browser.size(1400, 900);
        browser.go(&world.url());
        Self { world, browser }
    }

    fn search(&mut self, words: &str, n_rows: usize) {
        self.browser.write(words);
        self.browser.until(&format!("{ROWS}.length === {n_rows}"));
    }

    fn clear(&mut self) {
        self.browser.eval("document.getElementById('words').select()");
        self.browser.press("Backspace");
        self.browser
            .until("document.getElementById('list').hidden && document.getElementById('said').textContent === ''");
    }

    fn selected(&mut self) -> String {
        self.browser.text("#list > [aria-selected=true] .title")
    }

    fn n_searches(&self) -> u64 {
        self.world.get("api/status").json()["agent"]["measured"]["n_searches"].as_u64().expect("a number")
    }
}

#[test]
fn somebody_finds_and_opens_with_the_keyboard() {
    let Some(program) = browser() else { return };
    let mut it = Visit::to(World::with(FILES), &program);
    it.browser.until("document.getElementById('go').hidden && document.activeElement.role === 'combobox'");
    assert!(it.browser.is("document.activeElement.id === 'words'"), "the field has the focus");
    it.search("rent", 4);
    assert!(it.browser.text("#said").starts_with("4 matches in "), "{}", it.browser.text("#said"));
    assert!(it.browser.is("document.querySelector('.snippet mark').textContent.toLowerCase().startsWith('rent')"));

    // Arrows choose, and what is chosen stays while the query grows.
    it.browser.press("ArrowDown");
    let first = it.selected();
    it.browser.press("ArrowDown");
    let second = it.selected();
    assert!(!first.is_empty() && !second.is_empty() && first != second, "{first} {second}");
    assert!(it.browser.is("document.activeElement.id === 'words'"), "the focus stays in the field");
    let active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))";
    assert!(it.browser.is(&format!("{active}.getAttribute('aria-selected') === 'true'")));
    it.browser.eval(&format!("window.row = {active}"));
    it.browser.press("Backspace");
    it.browser.until("document.getElementById('words').value === 'ren'");
    it.browser.write("t");
    it.browser.until(&format!("{ROWS}.length === 4 && document.querySelector('#said').textContent.startsWith('4')"));
    assert!(it.browser.is("window.row.isConnected && window.row.getAttribute('aria-selected') === 'true'"));
    assert_eq!(it.selected(), second);
    it.browser.press("ArrowUp");
    it.browser.press("ArrowUp");
    assert_eq!(it.selected(), "", "above the first one is the field");
    it.browser.press("ArrowDown");
    let chosen = it.selected();

    // Why it is here.
    it.browser.alt('w');
    it.browser.until("!document.getElementById('why').hidden");
    assert_eq!(it.browser.text("#why-document"), chosen);
    assert!(it.browser.is("document.querySelectorAll('#shares li').length > 1"));
    assert!(it.browser.text("#shares").contains("how well"), "{}", it.browser.text("#shares"));
    assert!(it.browser.text("#why-place").starts_with("Place "));
    it.browser.press("ArrowDown");
    let next = it.selected();
    it.browser.until(&format!("document.getElementById('why-document').textContent === {}", serde_json::json!(next)));
    it.browser.press("Escape");
    assert!(
        it.browser.is("document.getElementById('why').hidden && document.getElementById('words').value === 'rent'")
    );

    it.browser.press("Enter");
    it.browser.until("document.getElementById('done').textContent.startsWith('Opened ')");
    let path = it.browser.eval("document.querySelector('#list > [aria-selected=true] .path').title");
    assert_eq!(it.world.opened(1), [format!("1 {}", path.as_str().expect("a path"))]);

    // Escape clears, then leaves; a stroke comes back.
    it.browser.press("Escape");
    it.browser.until("document.getElementById('list').hidden && document.getElementById('words').value === ''");
    it.browser.press("Escape");
    assert!(it.browser.is("document.activeElement.id !== 'words'"));
    it.browser.write("/");
    assert!(it.browser.is("document.activeElement.id === 'words' && document.activeElement.value === ''"));
    assert_eq!(it.browser.complaints(), [""; 0]);
}

#[test]
fn lists_count_when_they_were_seen_and_end_when_somebody_goes() {
    let Some(program) = browser() else { return };
    let mut it = Visit::to(World::with(FILES), &program);
    // Enter right after the last letter opens what was typed, not what was there before.
    it.search("tomato", 1);
    it.clear();
    it.browser.write("lease");
    it.browser.press("Enter");
    let lease = it.world.files.join("home/lease.md").display().to_string();
    assert_eq!(it.world.opened(1), [format!("1 {lease}")]);
    it.browser.until("document.getElementById('done').textContent === 'Opened Lease of the flat.'");
    it.clear();
    // What stays in sight is seen, and left when the query is cleared.
    let (seen, left) = (it.n_sent("seen"), it.n_sent("left"));
    it.search("tomato", 1);
    it.browser.until(&format!("{} > {seen}", sent("seen")));
    it.clear();
    it.browser.until(&format!("{} > {left}", sent("left")));

    // Filters, and the mouse.
    it.search("rent", 4);
    it.browser.eval("(() => { const kind = document.getElementById('kind'); kind.value = 'mail'; kind.dispatchEvent(new Event('change')); })()");
    it.browser.until(&format!("{ROWS}.length === 1 && {ROWS}[0].textContent.includes('Rent in May')"));
    it.browser.click("#list .title");
    it.browser.until("document.getElementById('done').textContent === 'Opened Rent in May.'");
    it.browser.click("#ask-why");
    it.browser.until("!document.getElementById('why').hidden");
    it.browser.click("#close-why");
    it.browser.until("document.getElementById('why').hidden");

    // A list that is over makes way for another one.
    it.world.call("forget", &serde_json::json!({}));
    it.browser.click("#list .title");
    it.browser.until("document.getElementById('done').textContent.startsWith('Opened ')");
    let opened = it.world.opened(3);
    assert_eq!(opened.len(), 3, "{opened:?}");
    // Somebody goes.
    let before = it.n_searches();
    it.browser.go("about:blank");
    it.wait_for_searches(before + 1);
    assert_eq!(it.complaints_but_gone(), [""; 0]);
}

/// How often the page has called, as a script of the page counts it.
fn sent(call: &str) -> String {
    format!("performance.getEntriesByType('resource').filter((it) => it.name.endsWith('/api/{call}')).length")
}

impl Visit {
    fn n_sent(&mut self, call: &str) -> u64 {
        self.browser.eval(&sent(call)).as_u64().expect("a number")
    }

    fn wait_for_searches(&self, n: u64) {
        let begun = std::time::Instant::now();
        while self.n_searches() < n {
            assert!(begun.elapsed().as_secs() < 20, "{} searches instead of {n}", self.n_searches());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// The browser names answers that say that a list is over.
    fn complaints_but_gone(&mut self) -> Vec<String> {
        let mut complaints = self.browser.complaints();
        complaints.retain(|it| !it.contains("status of 410"));
        complaints
    }
}

#[test]
fn a_first_run_needs_one_folder() {
    let Some(program) = browser() else { return };
    let mut world = World::with(&[]);
    for (name, text) in FILES {
        world.write(name, text);
    }
    world.work();
    let files = world.files.display().to_string();
    let mut it = Visit::to(world, &program);
    assert_eq!(it.browser.eval("document.getElementById('folder-to-add').value"), files);
    it.browser.click("#add");
    it.browser.until("document.getElementById('words') && document.readyState === 'complete'");
    assert!(it.browser.text(".notice").contains("The folder was added"));
    it.browser.until("location.search === '' && document.activeElement.id === 'words'");
    // It may be too early; the page looks again as documents arrive.
    it.browser.write("tomatoes");
    it.browser.until(&format!("{ROWS}.length === 1"));
    it.browser.until("document.getElementById('words').placeholder === 'Search 5 documents'");
    it.browser.go(&(it.world.url() + "privacy"));
    assert!(it.browser.text("#files").contains("5 documents in 5 files"), "{}", it.browser.text("#files"));
    it.browser.click("#pause");
    it.browser.until("document.querySelector('#resume') && document.readyState === 'complete'");
    assert!(it.browser.text(".notice").contains("Paused"));
    it.browser.click("#resume");
    it.browser.until("document.querySelector('#pause') && document.readyState === 'complete'");
    it.browser.click("#forget");
    it.browser.until("document.querySelector('#confirm') && document.readyState === 'complete'");
    it.browser.click("#confirm");
    it.browser.until("document.querySelector('.notice')?.textContent.startsWith('Forgotten')");
    it.browser.click("summary");
    it.browser.eval("document.getElementById('invitation').value = 'nonsense'");
    it.browser.eval("document.getElementById('join').click()");
    it.browser.until("document.querySelector('.notice.bad')?.textContent.includes('this is no invitation')");
    // Loading it anew sends nothing.
    it.browser.until("location.pathname.endsWith('/privacy')");
    let mut complaints = it.browser.complaints();
    complaints.retain(|it| !it.contains("status of 422"));
    assert_eq!(complaints, [""; 0]);
}

#[test]
fn pages_can_be_read_wide_and_narrow_light_and_dark() {
    let Some(program) = browser() else { return };
    let deep = format!("{}/{}.txt", ["a-folder-with-a-long-name"; 6].join("/"), "w".repeat(120));
    let long = format!("boat {}", "x".repeat(400));
    let mut files = hostile::files();
    files.push((&deep, &long));
    let mut it = Visit::to(World::with(&files), &program);
    let answer = it.world.search("boat");
    let opened = serde_json::json!({ "list": answer["list"], "document": answer["hits"][0]["document"] });
    it.world.call("opened", &opened);
    for (width, is_dark) in [(400, false), (400, true), (1400, false), (1400, true)] {
        it.browser.size(width, 900);
        it.browser.dark(is_dark);
        it.browser.go(&it.world.url());
        it.judge("start", width, is_dark);
        it.search("boat", 4);
        it.judge("results", width, is_dark);
        it.browser.press("ArrowDown");
        it.browser.alt('w');
        it.browser.until("!document.getElementById('why').hidden");
        it.judge("why", width, is_dark);
        for page in ["privacy", "forget", "?q=nothing-has-it"] {
            it.browser.go(&(it.world.url() + page));
            it.judge(page, width, is_dark);
        }
    }
    it.world.form("remove", &format!("folder={}", it.world.files.display()));
    it.browser.go(&it.world.url());
    it.judge("first run", 1400, true);
    it.browser.size(400, 900);
    it.judge("first run", 400, true);
    assert_eq!(it.browser.complaints(), [""; 0]);
}

impl Visit {
    fn judge(&mut self, page: &str, width: u32, is_dark: bool) {
        let is_asked =
            format!("innerWidth === {width} && matchMedia('(prefers-color-scheme: dark)').matches === {is_dark}");
        assert!(self.browser.is(&is_asked), "{page} at {width}");
        let faults = self.browser.eval(JUDGE);
        assert_eq!(faults, serde_json::json!([]), "{page} at {width}, dark: {is_dark}");
    }
}
