use foltr_rank::{normal::*, plackett_luce::*, query::*, rng::*, select::*};
fn main() {
    let nd = 41;
    let mut sb = ScoreBuffer::default();
    fill_standard_normal(&mut Streams::new(2).open(Purpose::Data, 0, 0), sb.reset(nd));
    let mut ls = ListSampler::default();
    let mut rk = Ranking::default();
    let mut st = Streams::new(3).open(Purpose::Interaction, 0, 0);
    let t = std::time::Instant::now();
    let n = 5_000_000;
    for _ in 0..n {
        ls.sample(&sb, 10, &mut st, &mut rk);
    }
    println!("{} ns", t.elapsed().as_nanos() as f64 / n as f64);
}
