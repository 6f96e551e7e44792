package limit

import (
	"cmp"
	"slices"
)

// Bucket is what one replica granted since a busy period began, in nanoseconds of emission (cost x window / limit),
// so that a limit may change while its cells live. A later epoch overwrites an earlier one.
type Bucket struct {
	Replica  Replica
	Epoch    int64 // when the busy period began, as the replica saw it
	Granted  int64 // grows only, within an epoch
	Returned int64 // grows only, within an epoch
	Capacity int64 // the burst at the last grant, in nanoseconds of emission
}

// join is the lexicographic maximum: by epoch, then each count by its own maximum.
func (b Bucket) join(c Bucket) Bucket {
	if b.Epoch != c.Epoch {
		if b.Epoch > c.Epoch {
			return b
		}
		return c
	}
	b.Granted = max(b.Granted, c.Granted)
	b.Returned = max(b.Returned, c.Returned)
	b.Capacity = max(b.Capacity, c.Capacity)
	return b
}

func (b Bucket) net() int64 { return b.Granted - b.Returned }

// bucketState holds token bucket, leaky bucket and GCRA, which are one thing seen from three sides: the theoretical
// arrival time (TAT) is when the bucket is full again (or the queue empty). The cells are replicated, the TAT is not:
// every node computes it from its own grants and from the growth of the cells that it receives. A grant is never
// lost, but nodes may differ by what is under way and by the difference of their clocks.
type bucketState struct {
	window int64
	tat    int64
	own    int64 // the TAT by this node's own grants alone: whatever the others say, tat is never below it
	start  int64 // of the busy period that tat belongs to
	cells  []cell
}

// cell is a replica's cell, with what this node alone knows of it.
type cell struct {
	Bucket
	charged int64 // how much of its net grants is in the TAT of the busy period that began at since
	since   int64
	heard   int64 // when it last changed here
	mine    bool  // this node's own, which is never forgotten
}

// emission is how long a bucket takes to refill a number of units; the time of one unit is rounded up to a nanosecond.
func emission(rule Rule, units int64) int64 {
	one := mulDivUp(1, rule.Window, rule.Limit)
	return mulDivDown(units, one, 1)
}

func (s *bucketState) debt(now int64, rule Rule) int64 {
	return min(max(s.tat-now, 0), emission(rule, rule.Burst))
}

func (s *bucketState) Room(now int64, rule Rule) int64 {
	return (emission(rule, rule.Burst) - s.debt(now, rule)) / emission(rule, 1)
}

func (s *bucketState) Wait(now int64, rule Rule, cost int64) int64 {
	if cost > rule.Burst {
		return Never
	}
	return max(s.debt(now, rule)+emission(rule, cost)-emission(rule, rule.Burst), 0)
}

func (s *bucketState) Reset(now int64, rule Rule) int64 { return s.debt(now, rule) }

func (s *bucketState) Count(self Replica, now int64, rule Rule, amount int64) {
	if s.tat <= now {
		s.tat, s.start = now, now
	}
	full := emission(rule, rule.Burst)
	grant := min(emission(rule, amount), full)
	s.tat = now + min(s.debt(now, rule)+grant, full) // more than a full bucket can't be owed
	s.own = now + min(max(s.own-now, 0)+grant, full)
	cell := s.cell(self)
	cell.heard, cell.mine = now, true
	if cell.Epoch < s.start || cell.Epoch == 0 {
		cell.Bucket = Bucket{Replica: self, Epoch: max(cell.Epoch+1, min(s.start, now))}
	}
	cell.Granted = min(cell.Granted+grant, MaxEmission)
	cell.Capacity = max(cell.Capacity, full)
}

func (s *bucketState) GiveBack(self Replica, now int64, rule Rule, amount, age int64) int64 {
	cell := s.cell(self)
	if now-age < cell.Epoch || s.tat <= now {
		return 0
	}
	back := min(amount, cell.net()/emission(rule, 1))
	cell.Returned += emission(rule, back)
	cell.Returned = min(cell.Returned, cell.Granted)
	s.tat -= emission(rule, back)
	s.own -= emission(rule, back)
	return back
}

// Merge joins the cells and charges their growth to the TAT. The sender's TAT bounds the charge from above (its debt
// and ours together) and, when cells are new to us and all that it stands for are there, from below: a node that
// restarts takes the debt over as it is. What the sender's clock says counts from when it sent, so that clocks may differ.
//
// What others give back lowers the TAT by at most what their own grants raised it, and never below our own grants: so no
// message makes this node admit more than it would alone.
func (s *bucketState) Merge(now int64, cells Cells) {
	shift := int64(0)
	if cells.Sent > 0 {
		shift = now - cells.Sent
	}
	cells.TAT += shift
	grown := make([]int64, len(cells.Buckets))
	capacity, unknown := int64(0), false
	for i, theirs := range cells.Buckets {
		mine := s.peer(theirs.Replica, now)
		if mine == nil {
			continue // the key has as many replicas as it may have
		}
		unknown = unknown || mine.Epoch == 0
		capacity = max(capacity, theirs.Capacity)
		grown[i] = mine.learn(theirs, now)
		s.takeBack(mine, -grown[i])
	}
	charged := s.tat
	for i, theirs := range cells.Buckets {
		if grown[i] > 0 {
			charged = s.charge(charged, min(theirs.Epoch+shift, now), now, grown[i])
		}
	}
	charged = min(charged, max(s.tat, now)+max(cells.TAT-now, 0))
	if unknown && cells.Whole {
		charged = max(charged, cells.TAT)
	}
	before := s.tat
	s.tat = min(charged, max(s.tat, now+capacity))
	s.attribute(cells.Buckets, grown, s.tat-max(before, s.start))
}

// learn joins a copy of the cell and says by how much its net grants grew; a new busy period counts from nothing.
func (c *cell) learn(theirs Bucket, now int64) int64 {
	before := c.Bucket
	c.Bucket = before.join(theirs)
	if c.Bucket == before {
		return 0
	}
	c.heard = now
	if c.Epoch > before.Epoch {
		return c.net()
	}
	return c.net() - before.net()
}

// takeBack lowers the TAT by what a cell gave back.
func (s *bucketState) takeBack(c *cell, units int64) {
	if units <= 0 || c.since != s.start {
		return
	}
	back := min(units, c.charged)
	c.charged -= back
	s.tat = min(s.tat, max(s.tat-back, s.own))
}

// charge is the TAT with the growth of a cell whose busy period began at begin, by our clock.
func (s *bucketState) charge(tat, begin, now, growth int64) int64 {
	if tat < begin {
		tat, s.start = begin, begin
	}
	return min(tat+min(growth, MaxFill), now+MaxFill)
}

// attribute shares out by how much the TAT rose among the cells that grew: so much may each take back.
func (s *bucketState) attribute(cells []Bucket, grown []int64, rise int64) {
	for i, theirs := range cells {
		share := min(max(rise, 0), max(grown[i], 0))
		if share == 0 {
			continue
		}
		mine := s.cell(theirs.Replica)
		if mine.since != s.start {
			mine.charged, mine.since = 0, s.start
		}
		mine.charged += share
		rise -= share
	}
}

// peer is another replica's cell. When there are as many as may be, that which was heard of longest ago makes room, if it
// is old; nil when none is.
func (s *bucketState) peer(replica Replica, now int64) *cell {
	if _, found := s.find(replica); found || len(s.cells) < MaxReplicas {
		return s.cell(replica)
	}
	oldest, heard := -1, now-MaxAhead
	for i, c := range s.cells {
		if !c.mine && c.heard <= heard {
			oldest, heard = i, c.heard
		}
	}
	if oldest < 0 {
		return nil
	}
	s.cells = slices.Delete(s.cells, oldest, oldest+1)
	return s.cell(replica)
}

func (s *bucketState) Cells(own Replica) Cells {
	cells := Cells{Kind: KindBucket, Whole: own == 0, Window: s.window, TAT: s.tat}
	for _, cell := range s.cells {
		if cell.Epoch > 0 && (own == 0 || cell.Replica == own) {
			cells.Buckets = append(cells.Buckets, cell.Bucket)
		}
	}
	return cells
}

func (s *bucketState) Size() int64 { return 0 }

func (s *bucketState) Expires() int64 { return s.tat }

func (s *bucketState) find(replica Replica) (int, bool) {
	return slices.BinarySearchFunc(s.cells, replica, func(c cell, id Replica) int { return cmp.Compare(c.Replica, id) })
}

// cell is the replica's cell, made when it is new; cells stay sorted so that equal states look equal.
func (s *bucketState) cell(replica Replica) *cell {
	at, found := s.find(replica)
	if !found {
		s.cells = slices.Insert(s.cells, at, cell{Bucket: Bucket{Replica: replica}})
	}
	return &s.cells[at]
}
