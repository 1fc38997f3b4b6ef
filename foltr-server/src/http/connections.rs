//! Which connections are open, and whether there is room for another.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;

use super::activity::Activity;
use super::limits::Limits;

/// A handshake and the headers of a request take a bad line less.
const STALLED: Duration = Duration::from_secs(2);

pub(super) struct Connections {
    open: Mutex<Open>,
    max: usize,
    max_per_address: usize,
    gauge: Gauge,
}

#[derive(Default)]
struct Open {
    next_id: u64,
    by_id: HashMap<u64, Entry>,
    by_address: HashMap<IpAddr, usize>,
}

struct Entry {
    address: IpAddr,
    activity: Arc<Activity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// All connections are busy.
    Full,
    /// The address has as many as it may have.
    Address,
}

/// A place among the connections, until it is dropped.
pub(super) struct Place {
    id: u64,
    connections: Arc<Connections>,
    pub activity: Arc<Activity>,
}

impl Connections {
    pub fn new(limits: &Limits, gauge: Gauge) -> Arc<Self> {
        Arc::new(Self {
            open: Mutex::default(),
            max: limits.connections,
            max_per_address: limits.connections_per_address,
            gauge,
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place, if need be that of a connection that has made no request for longer than an honest one takes, or that
    /// has been idle for the longest time.
    pub fn place(self: &Arc<Self>, address: IpAddr) -> Result<Place, NoRoom> {
        let address = network(address);
        let mut open = self.open();
        if open.by_address.get(&address).is_some_and(|n| *n >= self.max_per_address) {
            return Err(NoRoom::Address);
        }
        if open.by_id.len() >= self.max {
            let evicted = open.longest_stalled().or_else(|| open.longest_idle()).ok_or(NoRoom::Full)?;
            if let Some(entry) = open.remove(evicted) {
                entry.activity.evict();
            }
        }
        let (id, activity) = (open.next_id, Activity::new());
        open.next_id += 1;
        open.by_id.insert(id, Entry { address, activity: Arc::clone(&activity) });
        *open.by_address.entry(address).or_default() += 1;
        self.gauge.set(open.by_id.len() as i64);
        Ok(Place { id, connections: Arc::clone(self), activity })
    }
}

impl Open {
    fn longest_stalled(&self) -> Option<u64> {
        let stalled = self.by_id.iter().filter_map(|(id, entry)| Some((entry.activity.stalled_since()?, *id)));
        stalled.min().filter(|(since, _)| since.elapsed() >= STALLED).map(|(_, id)| id)
    }

    fn longest_idle(&self) -> Option<u64> {
        let idle = self.by_id.iter().filter_map(|(id, entry)| Some((entry.activity.idle_since()?, *id)));
        idle.min().map(|(_, id)| id)
    }

    fn remove(&mut self, id: u64) -> Option<Entry> {
        let entry = self.by_id.remove(&id)?;
        if let Some(n) = self.by_address.get_mut(&entry.address) {
            *n -= 1;
            if *n == 0 {
                self.by_address.remove(&entry.address);
            }
        }
        Some(entry)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.remove(self.id);
        self.connections.gauge.set(open.by_id.len() as i64);
    }
}

/// One customer has 2^64 addresses of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(max: usize, max_per_address: usize) -> Arc<Connections> {
        let limits = Limits { connections: max, connections_per_address: max_per_address, ..Limits::default() };
        Connections::new(&limits, Gauge::default())
    }

    fn place(connections: &Arc<Connections>, address: &str) -> Result<Place, NoRoom> {
        connections.place(address.parse().expect("an address"))
    }

    fn make_idle(place: &Place) {
        drop(place.activity.begin_answer(Default::default()));
        place.activity.has_flushed();
        assert!(place.activity.idle_since().is_some());
    }

    #[tokio::test]
    async fn an_address_gets_its_share_and_gives_it_back() {
        let connections = connections(10, 2);
        let first = place(&connections, "10.0.0.1").expect("room");
        let _second = place(&connections, "::ffff:10.0.0.1").expect("room");
        assert_eq!(place(&connections, "10.0.0.1").err(), Some(NoRoom::Address));
        let _other = place(&connections, "10.0.0.2").expect("room for others");
        drop(first);
        let _third = place(&connections, "10.0.0.1").expect("room again");
        assert_eq!(connections.gauge.get(), 3);
    }

    #[tokio::test]
    async fn a_network_of_ipv6_is_one_client() {
        let connections = connections(10, 1);
        let _first = place(&connections, "2001:db8::1").expect("room");
        assert_eq!(place(&connections, "2001:db8::2").err(), Some(NoRoom::Address));
        let _other = place(&connections, "2001:db8:0:1::1").expect("room for others");
    }

    #[tokio::test]
    async fn the_longest_idle_connection_makes_room() {
        let connections = connections(3, 10);
        let busy = place(&connections, "10.0.0.1").expect("room");
        let old = place(&connections, "10.0.0.2").expect("room");
        let new = place(&connections, "10.0.0.3").expect("room");
        make_idle(&old);
        make_idle(&new);
        let _late = place(&connections, "10.0.0.4").expect("room of an idle one");
        let told = tokio::time::timeout(std::time::Duration::from_secs(10), old.activity.evicted());
        told.await.expect("the longest idle one is told to end");
        assert_eq!(connections.gauge.get(), 3);
        drop(old);
        assert_eq!(connections.gauge.get(), 3, "it has given its place away already");
        drop(new);
        let _last = place(&connections, "10.0.0.5").expect("room");
        assert_eq!(place(&connections, "10.0.0.6").err(), Some(NoRoom::Full), "nobody is idle");
        drop(busy);
    }

    #[tokio::test]
    async fn who_asks_nothing_makes_room_before_who_has_asked() {
        let connections = connections(2, 10);
        let idle = place(&connections, "10.0.0.1").expect("room");
        make_idle(&idle);
        let silent = place(&connections, "10.0.0.2").expect("room");
        tokio::time::sleep(STALLED).await;
        let _late = place(&connections, "10.0.0.3").expect("room of the silent one");
        let evicted = tokio::time::timeout(Duration::from_secs(10), silent.activity.evicted());
        evicted.await.expect("the silent one ends");
        let _last = place(&connections, "10.0.0.4").expect("room of the idle one");
        let evicted = tokio::time::timeout(Duration::from_secs(10), idle.activity.evicted());
        evicted.await.expect("the new one may still ask");
    }
}
