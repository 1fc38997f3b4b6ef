use foltr_rank::{
    learn::{evolution::*, pdgd::*},
    normal::*,
    plackett_luce::*,
    query::*,
    ranker::dot::*,
    rng::*,
    select::*,
    *,
};
use rand::Rng;
use std::time::Instant;
fn time<F: FnMut(usize)>(name: &str, n: usize, mut f: F) {
    for i in 0..n / 10 {
        f(i);
    }
    let mut best = f64::MAX;
    for _ in 0..3 {
        let t = Instant::now();
        for i in 0..n {
            f(i);
        }
        best = best.min(t.elapsed().as_secs_f64() * 1e9 / n as f64);
    }
    println!("{name:30} {best:8.1} ns");
}
fn main() {
    for (nd, nf, nq) in [(41, 46, 1000), (120, 136, 3000)] {
        let stride = row_stride(nf);
        let mut backing = vec![0.0f32; nq * nd * stride + 16];
        let off = (64 - (backing.as_ptr() as usize) % 64) / 4 % 16;
        let data = &mut backing[off..off + nq * nd * stride];
        fill_standard_normal(&mut Streams::new(1).open(Purpose::Data, 0, 0), data);
        for row in data.chunks_exact_mut(stride) {
            for x in &mut row[..nf] {
                *x = x.abs().min(1.0)
            }
            for x in &mut row[nf..] {
                *x = 0.0;
            }
        }
        let q = |i: usize| {
            let j = (i.wrapping_mul(2654435761)) % nq;
            QueryView::new(&data[j * nd * stride..(j + 1) * nd * stride], nf)
        };
        let mut w = vec![0.0f32; nf];
        fill_standard_normal(&mut Streams::new(2).open(Purpose::Data, 0, 0), &mut w);
        let mut r = Ranker::new(Shape::Linear { n_features: nf });
        r.load(&w);
        let mut sb = ScoreBuffer::default();
        let mut rk = Ranking::default();
        println!("--- {nd} x {nf}");
        time("score hot", 100000, |_| {
            let v = q(0);
            r.score(v, sb.reset(nd));
        });
        time("score random", 100000, |i| {
            let v = q(i);
            r.score(v, sb.reset(nd));
        });
        time("select", 300000, |_| {
            sb.select(10, &mut rk);
        });
        let mut ls = ListSampler::default();
        let mut st = Streams::new(3).open(Purpose::Interaction, 0, 0);
        let sc = sb.clone();
        time("sample list", 300000, |_| {
            ls.sample(&sc, 10, &mut st, &mut rk);
        });
        let mut buf = [0u8; 512];
        time("fill_bytes", 300000, |_| {
            st.fill_bytes(&mut buf[..nd * 4]);
        });
        time("rewind+draw", 300000, |i| {
            Streams::rewind(&mut st, Purpose::Noise, i as u32, 0);
            std::hint::black_box(st.next_u32());
        });
        let mut p = Pdgd::new(
            Shape::Linear { n_features: nf },
            PdgdSettings { learning_rate: 0.1, updates: Updates::Immediate, n_shown: 10, clip_radius: None },
        );
        p.begin(&w, &mut st);
        p.rank(q(0), &mut st, &mut rk);
        for bits in [1u32, 0b100, 0b1000100, 0b0101010101] {
            let clicks = Clicks(bits);
            time(&format!("observe {bits:b}"), 300000, |i| {
                if i % 64 == 0 {
                    p.begin(&w, &mut st);
                    p.rank(q(0), &mut st, &mut rk);
                }
                p.observe(&Impression { query: q(0), ranking: &rk, clicks });
            });
        }
        for h in [10, 64] {
            let a = if h == 10 { Activation::Relu } else { Activation::Logistic };
            let sh = Shape::Mlp { n_features: nf, n_hidden: h, activation: a };
            let mut m = Ranker::new(sh);
            let mut pr = vec![0.0; sh.n_params()];
            fill_standard_normal(&mut st, &mut pr);
            m.load(&pr);
            time(&format!("mlp {h} score"), 20000, |i| {
                m.score(q(i), sb.reset(nd));
            });
            let wts = [0.001f32, -0.001, 0.0005, 0.0005, -0.0005, -0.0005, 0.001, -0.001, 0.0005, -0.0005];
            time(&format!("mlp {h} ascend"), 20000, |_| {
                m.ascend(q(0), rk.docs(), &wts);
            });
            time(&format!("mlp {h} load"), 20000, |_| {
                m.load(&pr);
            });
            time(&format!("direction {h}"), 20000, |i| {
                fill_direction(i as u32, &mut pr);
            });
        }
        let mut d = vec![0.0; nf];
        time("direction linear", 100000, |i| {
            fill_direction(i as u32, &mut d);
        });
        let wm: Vec<f32> = (0..32)
            .flat_map(|_| {
                let mut x = w.clone();
                x.resize(stride, 0.0);
                x
            })
            .collect();
        let mut s32 = vec![0.0; 32 * nd];
        time("dot many 32", 10000, |i| {
            dot_rows_many(q(i).rows(), stride, &wm, &mut s32);
        });
    }
}
