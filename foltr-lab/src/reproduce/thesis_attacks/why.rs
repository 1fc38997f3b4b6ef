//! Where findings 17 to 21 failed on the data at hand, and why: said by an entry whose finding fails.

/// Finding 17, who is hit most.
pub const BOTH_UPSIDE_DOWN: &str = "\
    from 30 % on the rankers of navigational and of informational users are both upside down, and which of the two \
    lost more is chance; at 20 % the order is the thesis's";
/// Finding 17, who is hurt when.
pub const PERFECT_USERS: &str = "\
    perfect users click what is relevant and little else: six of them may outweigh four attackers, who then slow \
    them down and do not turn them round";
/// Finding 18, Krum.
pub const KRUM: &str = "\
    perfect users have less to win back than Krum costs without an attack (finding 19). With informational users Krum \
    picks attackers more often than their share (see the table): their clicks are certain, those of honest users are \
    not, so attackers are most alike, and a run ends sound or upside down. A difference between two rankers that are \
    both upside down is no help, but counts";
/// Finding 18, Multi-Krum.
pub const MULTI_KRUM: &str = "\
    with informational users at 20 % some runs end upside down under Krum and not under Multi-Krum, whose mean of \
    eight updates an attacker cannot be alone in; from 30 % on both are upside down";
/// Finding 18, updates and coordinates.
pub const COORDINATES: &str = "\
    with navigational users Krum and Multi-Krum hardly ever take an attacker (see the table), on MQ2007 as elsewhere, \
    and rules by coordinate give way: the thesis's exception is not seen";
/// Finding 18, coordinates with informational users.
pub const RUINED: &str = "both rankers are upside down: more than .005 between them, and no help";
/// Finding 19, stated.
pub const COSTS_LITTLE: &str = "\
    Krum is mostly below FedAvg, the median hardly: the ranker is learnt within a few hundred rounds, and what more \
    noise in every step costs after that is near or below .005";
/// Finding 19, implied.
pub const WITHIN_CHANCE: &str = "the two differ by a few thousandths, which is what runs scatter by";
/// Finding 20.
pub const NO_DAMAGE: &str = "\
    data poisoning does perfect users next to no damage here, so a little is enough does as much or more: the \
    exception that the thesis makes for Yahoo at 40 %";
/// Finding 21, Fang's attack beside data poisoning.
pub const ALREADY_RUINED: &str = "\
    where data poisoning alone turns Krum's ranker upside down, Fang's attack has nothing left to do";
/// Finding 21, knowledge.
pub const PARTIAL_IS_ENOUGH: &str = "\
    with informational users two attackers that know only themselves turn the ranker upside down, so full knowledge \
    cannot do more";
