package limit

import (
	"slices"

	"patternbench.dev/crdt-sidecar/internal/clock"
)

// Replica identifies one life of one node: a node that restarts is a new replica, so no cell has two writers.
type Replica uint64

// Never is the wait of a cost that can't ever fit.
const Never = int64(-1)

// State is what is held of one key. All its methods expect a rule of the algorithm and window it was made for.
type State interface {
	// Room is how many whole units fit now; it may be negative after a merge.
	Room(now int64, rule Rule) int64
	// Wait is how long until cost fits if nothing more is counted: 0 when it fits now, Never when it can't.
	Wait(now int64, rule Rule, cost int64) int64
	// Reset is how long until the whole capacity is available if nothing more is counted.
	Reset(now int64, rule Rule) int64
	// Count adds amount to the cell of replica self.
	Count(self Replica, now int64, rule Rule, amount int64)
	// GiveBack takes back what self counted age ago, at most amount and at most what it counted then.
	GiveBack(self Replica, now int64, rule Rule, amount, age int64) int64
	// Merge joins cells of the same key, as Cells of another copy gave them.
	Merge(now int64, cells Cells)
	// Cells is a copy of the cells; of one replica's only when own is not 0.
	Cells(own Replica) Cells
	// Size is how many entries a log holds; 0 for what never grows.
	Size() int64
	// Expires is when the cells stop mattering, by the clock of the cells.
	Expires() int64
}

// Cells is what travels between nodes: the cells of one key. One of the three lists is filled, by kind.
type Cells struct {
	Kind    Kind
	Whole   bool  // every replica's cells that the sender has, not only one replica's
	Window  int64 // nanoseconds
	Sent    int64 // by the sender's clock, when that is known; 0 otherwise
	Slots   int   // slots of a ring; windows only
	TAT     int64 // buckets only: the sender's theoretical arrival time
	Rings   []Ring
	Buckets []Bucket
	Entries []Entry
}

// MaxAhead is how far a peer's clock may be ahead of ours: as far as a clock may be behind before it jumps.
const MaxAhead = int64(clock.AdoptAfter)

// MaxReplicas bounds the replicas of one key: tens of nodes with their former lives. Every decision reads each of them,
// and a sender without a secret may make up any number.
const MaxReplicas = 256

// Foreign is what may be merged of a peer's cells, and how many it left out as too far in the future: none of self's
// own, which no one else writes, and nothing that a clock can't have written yet, as it would hide what is written
// until then.
func (c Cells) Foreign(self Replica, now int64) (Cells, int64) {
	late, ignored := now+MaxAhead, int64(0)
	keep := func(replica Replica, at int64) bool {
		if at > late && replica != self {
			ignored++
		}
		return at <= late && replica != self
	}
	length := SubLength(c.Window, max(c.Slots, 1))
	c.Rings = filter(c.Rings, func(r Ring) bool { return keep(r.Replica, r.newest()*length) })
	c.Buckets = filter(c.Buckets, func(b Bucket) bool { return keep(b.Replica, b.Epoch) })
	c.Entries = filter(c.Entries, func(e Entry) bool { return keep(e.Replica, e.Stamp) })
	return c, ignored
}

// Empty is whether no cell is left.
func (c Cells) Empty() bool { return len(c.Rings)+len(c.Buckets)+len(c.Entries) == 0 }

func filter[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(all, func(each T) bool { return !keep(each) })
}

// Kind is the shape of a key's cells.
type Kind uint8

// The kinds; their wire numbers must not change.
const (
	KindRing Kind = iota + 1
	KindBucket
	KindLog
)

// NewState is the empty state for a rule.
func NewState(rule Rule) State {
	switch rule.Algorithm {
	case FixedWindow:
		return newRings(rule.Window, 1)
	case SlidingWindowCounter:
		return newRings(rule.Window, int(rule.SubWindow)+1)
	case SlidingWindowLog:
		return &logState{window: rule.Window}
	default:
		return &bucketState{window: rule.Window}
	}
}

// StateFor is the empty state that cells of another node can be merged into.
func StateFor(cells Cells) State {
	switch cells.Kind {
	case KindRing:
		return newRings(cells.Window, cells.Slots)
	case KindLog:
		return &logState{window: cells.Window}
	default:
		return &bucketState{window: cells.Window}
	}
}

// Answer is the answer that a caller gets; durations in nanoseconds.
type Answer struct {
	Allowed    int64
	Remaining  int64
	Reset      int64
	RetryAfter int64
	Delay      int64
}

// Take counts cost if all of it fits.
func Take(s State, self Replica, now int64, rule Rule, cost int64) Answer {
	answer := Peek(s, now, rule, cost)
	if answer.Allowed == 1 {
		s.Count(self, now, rule, cost)
	}
	return answer.after(s, now, rule)
}

// Peek is what Take would answer, counting nothing.
func Peek(s State, now int64, rule Rule, cost int64) Answer {
	answer := Answer{RetryAfter: s.Wait(now, rule, cost)}
	if answer.RetryAfter == 0 {
		answer.Allowed = 1
		answer.Delay = delay(s, now, rule)
	}
	return answer.after(s, now, rule)
}

// Whole is a share of everything that remains, in millionths.
const Whole = 1_000_000

// PartOf is the most of cost that a lease of a share (in millionths) of what remains may hold: at least one unit.
func PartOf(s State, now int64, rule Rule, cost, share int64) int64 {
	return min(cost, max(1, mulDivUp(max(s.Room(now, rule), 0), share, Whole)))
}

// Lease counts as much of cost as fits; Allowed is that amount.
func Lease(s State, self Replica, now int64, rule Rule, cost int64) Answer {
	amount := min(cost, max(s.Room(now, rule), 0))
	if amount == 0 {
		return Answer{RetryAfter: s.Wait(now, rule, 1)}.after(s, now, rule)
	}
	s.Count(self, now, rule, amount)
	return Answer{Allowed: amount}.after(s, now, rule)
}

// Report counts cost whether it fits or not; Allowed says whether it did.
func Report(s State, self Replica, now int64, rule Rule, cost int64) Answer {
	answer := Peek(s, now, rule, cost)
	s.Count(self, now, rule, cost)
	return answer.after(s, now, rule)
}

// GiveBack takes back what self leased age ago; Allowed is the amount taken back.
func GiveBack(s State, self Replica, now int64, rule Rule, amount, age int64) Answer {
	return Answer{Allowed: s.GiveBack(self, now, rule, amount, age)}.after(s, now, rule)
}

func (a Answer) after(s State, now int64, rule Rule) Answer {
	a.Remaining = max(s.Room(now, rule), 0)
	a.Reset = s.Reset(now, rule)
	return a
}

func delay(s State, now int64, rule Rule) int64 {
	if rule.Algorithm == LeakyBucket {
		return s.Reset(now, rule)
	}
	return 0
}
