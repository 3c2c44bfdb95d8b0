//! The scheduler against a model of the queue: windows, order, completeness, times.

use super::*;
use proptest::prelude::*;

const PACE: Pace = Pace { window: 4, redeliver_min_ms: 10_000, redeliver_max_ms: 60_000 };

/// The queue of one recipient, and what went out on one link.
#[derive(Default)]
struct Model {
    link: Deliveries,
    rows: BTreeMap<Pos, First>,
    next: Pos,
    now: u64,
    paused: bool,
    /// First deliveries on this link, by sender.
    first: BTreeMap<MachineId, Vec<Pos>>,
    /// Every time a row went out on this link.
    times: BTreeMap<Pos, Vec<u64>>,
}

#[derive(Clone, Debug)]
enum Step {
    Commit {
        sender: u8,
        ttl: u64,
    },
    /// A commit that reported failure and was applied all the same.
    Doubt {
        sender: u8,
    },
    Ack(usize),
    Pass(u64),
    Pause(bool),
    /// Rows that fit before the socket is full.
    Pump(usize),
    Relink,
    Remove(u8),
    Purge,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u8..3, prop_oneof![4 => Just(1_000_000u64), 1 => 1u64..30_000])
            .prop_map(|(sender, ttl)| Step::Commit { sender, ttl }),
        1 => (0u8..3).prop_map(|sender| Step::Doubt { sender }),
        8 => any::<usize>().prop_map(Step::Ack),
        3 => (0u64..25_000).prop_map(Step::Pass),
        1 => any::<bool>().prop_map(Step::Pause),
        5 => (1usize..9).prop_map(Step::Pump),
        1 => Just(Step::Relink),
        1 => (0u8..3).prop_map(Step::Remove),
        1 => Just(Step::Purge),
    ]
}

fn machine(byte: u8) -> MachineId {
    MachineId::from_bytes(&[byte; 32])
}

impl Model {
    fn now(&self) -> Now {
        Now { wall: Ms(self.now), mono: Mono(self.now) }
    }

    fn insert(&mut self, sender: u8, ttl: u64) -> First {
        self.next += 1;
        let id = Ulid::from_parts(Ms(u64::try_from(self.next).unwrap()), [0; 10]);
        let row = First {
            pos: self.next,
            sender: machine(sender),
            id,
            exp: Ms(self.now + ttl),
            bytes: 1,
        };
        self.rows.insert(row.pos, row);
        row
    }

    fn goes_out(&mut self, row: First) {
        assert!(row.exp > Ms(self.now), "nothing goes out after its time");
        assert!(self.rows.contains_key(&row.pos), "nothing goes out that is gone");
        let first = self.first.entry(row.sender).or_default();
        assert!(
            first.last() < Some(&row.pos),
            "first deliveries of a sender keep the queue's order"
        );
        first.push(row.pos);
        self.times.entry(row.pos).or_default().push(self.now);
    }

    /// What the pump does, with a socket that takes `room` frames.
    fn pump(&mut self, mut room: usize) {
        if self.paused {
            return;
        }
        while room > 0
            && let Some(pos) = self.link.next_due(self.now())
        {
            if self.rows.contains_key(&pos) {
                self.link.sent_again(pos, PACE, Mono(self.now));
                self.times.get_mut(&pos).unwrap().push(self.now);
                room -= 1;
            } else {
                self.link.ended(pos);
            }
        }
        while room > 0
            && let Some((sender, after, most)) = self.link.next_lane(PACE)
        {
            let waiting: Vec<First> = self
                .rows
                .range(after + 1..)
                .map(|(_, row)| *row)
                .filter(|row| row.sender == sender)
                .take(most)
                .collect();
            let mut read = 0;
            for row in waiting {
                read += 1;
                if row.exp <= Ms(self.now) {
                    self.link.skipped(&sender, row.pos);
                } else {
                    self.link.sent(row, PACE, Mono(self.now));
                    self.goes_out(row);
                    room -= 1;
                }
                if room == 0 {
                    break;
                }
            }
            self.link.lane_read(&sender, read < most && room > 0);
        }
    }

    fn relink(&mut self) {
        self.link = Deliveries::default();
        self.first.clear();
        self.times.clear();
        let senders: BTreeSet<MachineId> = self.rows.values().map(|row| row.sender).collect();
        for sender in senders {
            self.link.expect(sender);
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Commit { sender, ttl } => {
                let row = self.insert(sender, ttl);
                if self.link.offer(row.sender, row.pos, PACE, self.paused) {
                    self.link.sent(row, PACE, Mono(self.now));
                    self.goes_out(row);
                }
            }
            Step::Doubt { sender } => {
                let row = self.insert(sender, 1_000_000);
                self.link.expect_after(row.sender, row.pos - 1);
            }
            Step::Ack(which) => {
                let flying: Vec<Pos> =
                    self.times.keys().copied().filter(|pos| self.rows.contains_key(pos)).collect();
                if let Some(pos) = flying.get(which % flying.len().max(1)) {
                    let row = self.rows.remove(pos).unwrap();
                    if let Named::One(named) = self.link.named(&row.id, Some(&row.sender)) {
                        assert_eq!(named, *pos);
                        self.link.ended(named);
                    }
                    assert_eq!(self.link.named(&row.id, None), Named::None);
                }
            }
            Step::Pass(ms) => self.now += ms,
            Step::Pause(paused) => self.paused = paused,
            Step::Pump(room) => self.pump(room),
            Step::Relink => self.relink(),
            Step::Remove(sender) => {
                self.rows.retain(|_, row| row.sender != machine(sender));
                self.link.forget_sender(&machine(sender));
            }
            Step::Purge => {
                self.rows.retain(|_, row| row.exp > Ms(self.now));
                self.link.expire(Ms(self.now));
            }
        }
        for sender in 0..3 {
            assert!(
                self.link.in_flight(&machine(sender)) <= PACE.window,
                "a window never overruns"
            );
        }
    }

    /// With an empty socket and every ack, everything goes out, and the link ends with nothing to say.
    fn drain(mut self) {
        self.paused = false;
        for _ in 0..1_000 {
            self.step(Step::Purge);
            self.step(Step::Pump(usize::MAX));
            for sender in 0..3 {
                let sender = machine(sender);
                let waiting = self.rows.values().filter(|row| row.sender == sender).count();
                assert_eq!(
                    self.link.in_flight(&sender),
                    waiting.min(PACE.window),
                    "windows are filled"
                );
            }
            if self.rows.is_empty() {
                assert!(
                    self.link.lanes.is_empty() && self.link.ready.is_empty(),
                    "{:?}",
                    self.link
                );
                assert!(
                    self.link.flights.is_empty()
                        && self.link.by_id.is_empty()
                        && self.link.due.is_empty()
                );
                return;
            }
            self.step(Step::Ack(0));
        }
        panic!("it never ends");
    }
}

proptest! {
    #[test]
    fn windows_order_and_completeness_hold(steps in prop::collection::vec(step(), 1..120)) {
        let mut model = Model::default();
        for step in steps {
            model.step(step);
        }
        model.drain();
    }

    /// With a pump at each millisecond that it asks for, a row goes out 0, 10, 30, 70, 130, 190… s after its first time.
    #[test]
    fn redeliveries_keep_their_times(starts in prop::collection::vec(0u64..40_000, 1..8)) {
        let mut model = Model::default();
        let mut starts = starts;
        starts.sort_unstable();
        for start in starts {
            while let Some(due) = model.link.deadline().filter(|due| due.0 <= start) {
                model.now = due.0;
                model.step(Step::Pump(usize::MAX));
            }
            model.now = start;
            model.step(Step::Commit { sender: u8::try_from(model.next % 3).unwrap(), ttl: 300_000 });
        }
        while let Some(due) = model.link.deadline() {
            prop_assert!(due.0 > model.now || model.link.next_due(model.now()).is_some());
            model.now = due.0;
            model.step(Step::Pump(usize::MAX));
        }
        for times in model.times.values() {
            let after: Vec<u64> = times.iter().map(|at| at - times[0]).collect();
            let expected = [0, 10_000, 30_000, 70_000, 130_000, 190_000, 250_000];
            prop_assert_eq!(&after[..], &expected[..after.len()]);
            prop_assert_eq!(after.len(), expected.len(), "until its time has passed");
        }
    }
}

#[test]
fn an_id_of_two_senders_is_told_apart() {
    let mut link = Deliveries::default();
    let id = Ulid::from_parts(Ms(0), [1; 10]);
    for (pos, sender) in [(1, 1), (2, 2)] {
        link.sent(
            First { pos, sender: machine(sender), id, exp: Ms(100), bytes: 1 },
            PACE,
            Mono(0),
        );
    }
    assert_eq!(link.named(&id, None), Named::Several);
    assert_eq!(link.named(&id, Some(&machine(2))), Named::One(2));
    assert_eq!(link.named(&id, Some(&machine(3))), Named::None);
    link.ended(2);
    assert_eq!(link.named(&id, None), Named::One(1));
    link.ended(1);
    link.ended(1);
    assert_eq!(link.named(&id, None), Named::None);
}

#[test]
fn each_first_delivery_pays_once() {
    let mut link = Deliveries::default();
    assert!(!link.pay());
    let id = Ulid::from_parts(Ms(0), [1; 10]);
    link.sent(First { pos: 1, sender: machine(1), id, exp: Ms(100_000), bytes: 1 }, PACE, Mono(0));
    link.sent_again(1, PACE, Mono(10_000));
    assert!(link.pay());
    assert!(!link.pay());
    link.unpay();
    assert!(link.pay());
}
