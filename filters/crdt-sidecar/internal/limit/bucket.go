package limit

import "sort"

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
	start  int64 // of the busy period that tat belongs to
	cells  []Bucket
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
	cell := s.cell(self)
	if cell.Epoch < s.start || cell.Epoch == 0 {
		*cell = Bucket{Replica: self, Epoch: max(cell.Epoch+1, min(s.start, now))}
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
	return back
}

// Merge joins the cells and charges their growth to the TAT. The sender's TAT bounds the charge from above (its debt
// and ours together) and, when cells are new to us and all that it stands for are there, from below: a node that
// restarts takes the debt over as it is. What the sender's clock says counts from when it sent, so that clocks may differ.
func (s *bucketState) Merge(now int64, cells Cells) {
	shift := int64(0)
	if cells.Sent > 0 {
		shift = now - cells.Sent
	}
	cells.TAT += shift
	charged, capacity, unknown := s.tat, int64(0), false
	for _, theirs := range cells.Buckets {
		mine := s.cell(theirs.Replica)
		unknown = unknown || mine.Epoch == 0
		charged = s.charge(charged, min(theirs.Epoch+shift, now), now, *mine, theirs)
		capacity = max(capacity, theirs.Capacity)
		*mine = mine.join(theirs)
	}
	ceiling := max(s.tat, now) + max(cells.TAT-now, 0)
	charged = min(charged, ceiling)
	if unknown && cells.Whole {
		charged = max(charged, cells.TAT)
	}
	s.tat = min(charged, max(s.tat, now+capacity))
}

// charge is the TAT with the growth of a cell whose busy period began at begin, by our clock.
func (s *bucketState) charge(tat, begin, now int64, mine, theirs Bucket) int64 {
	if theirs.Epoch < mine.Epoch {
		return tat
	}
	growth := theirs.net()
	if theirs.Epoch == mine.Epoch {
		growth = mine.join(theirs).net() - mine.net()
	}
	if tat < begin {
		tat, s.start = begin, begin
	}
	return min(tat+min(growth, MaxFill), now+MaxFill)
}

func (s *bucketState) Cells(own Replica) Cells {
	cells := Cells{Kind: KindBucket, Whole: own == 0, Window: s.window, TAT: s.tat}
	for _, cell := range s.cells {
		if cell.Epoch > 0 && (own == 0 || cell.Replica == own) {
			cells.Buckets = append(cells.Buckets, cell)
		}
	}
	return cells
}

func (s *bucketState) Size() int64 { return 0 }

func (s *bucketState) Expires() int64 { return s.tat }

// cell is the replica's cell, made when it is new; cells stay sorted so that equal states look equal.
func (s *bucketState) cell(replica Replica) *Bucket {
	at := sort.Search(len(s.cells), func(i int) bool { return s.cells[i].Replica >= replica })
	if at == len(s.cells) || s.cells[at].Replica != replica {
		s.cells = append(s.cells, Bucket{})
		copy(s.cells[at+1:], s.cells[at:])
		s.cells[at] = Bucket{Replica: replica}
	}
	return &s.cells[at]
}
