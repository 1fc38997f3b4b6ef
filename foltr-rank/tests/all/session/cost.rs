//! What an open impression costs. `foltr bench --only session` measures the time.

use foltr_rank::{Candidates, Learning, Models, Session, Shape};

use super::{PDGD, normals, stream};

#[test]
fn an_open_impression_takes_less_than_8_kib() {
    let (n_docs, n_features) = (41, 46);
    let learning = Learning::Pdgd(foltr_rank::learn::pdgd::PdgdSettings { n_shown: 10, ..PDGD });
    let mut session = Session::new(Shape::Linear { n_features }, learning).expect("sound settings");
    let models = Models { global: &normals(n_features, 0), clusters: &[] };
    session.begin(models, 0, &mut stream(0)).expect("its model");
    let query = Candidates::new(&normals(n_docs * n_features, 1), n_features).expect("finite numbers");
    let before = session.encode().len();
    let n_lists = 50;
    for _ in 0..n_lists {
        session.rank(query.view(), 0, &mut stream(0)).expect("a sound query");
    }
    let stored = (session.encode().len() - before) / n_lists;
    let in_memory = session.open()[0].n_bytes();
    println!("{in_memory} bytes in memory, {stored} bytes stored");
    // Ten rows of 48 or 46 floats, eleven masses.
    assert!((10 * 48 * 4 + 88..2_200).contains(&in_memory), "{in_memory}");
    assert!((10 * 46 * 4 + 88..2_000).contains(&stored), "{stored}");
}
