package limit

import "sort"

// Entry is one grant in a replica's log, or something given back (negative units). A replica never uses a stamp twice.
type Entry struct {
	Stamp   int64 // nanoseconds since the Unix epoch
	Replica Replica
	Units   int64
}

func (e Entry) before(f Entry) bool {
	return e.Stamp < f.Stamp || (e.Stamp == f.Stamp && e.Replica < f.Replica)
}

// logState is the exact log: a set of entries that only grows and that time eats from behind. Merging is union.
type logState struct {
	window  int64
	entries []Entry // sorted by stamp, then replica
	used    int64
	sent    [2]int64 // own entries up to here went out at the last and at the last but one reading of Cells
}

func (s *logState) Room(now int64, plan Plan) int64 {
	s.prune(now)
	return plan.Limit - max(s.used, 0)
}

func (s *logState) Wait(now int64, plan Plan, cost int64) int64 {
	missing := cost - s.Room(now, plan)
	if missing <= 0 {
		return 0
	}
	if cost > plan.Limit {
		return Never
	}
	for i, entry := range s.entries {
		missing -= entry.Units
		last := i == len(s.entries)-1 || s.entries[i+1].Stamp > entry.Stamp // of those that leave at once
		if last && missing <= 0 {
			return max(entry.Stamp+s.window-now, 1)
		}
	}
	return s.window // not reached: the whole log is what is missing at most
}

func (s *logState) Reset(now int64, _ Plan) int64 {
	s.prune(now)
	if len(s.entries) == 0 {
		return 0
	}
	return s.entries[len(s.entries)-1].Stamp + s.window - now
}

func (s *logState) Count(self Replica, now int64, _ Plan, amount int64) {
	s.prune(now)
	s.insert(Entry{s.freeStamp(self, now), self, amount})
}

func (s *logState) GiveBack(self Replica, now int64, _ Plan, amount, age int64) int64 {
	s.prune(now)
	at := s.freeStamp(self, now-age)
	back := min(amount, s.countedBy(self))
	if at <= now-s.window || back <= 0 {
		return 0
	}
	s.insert(Entry{at, self, -back})
	return back
}

func (s *logState) countedBy(self Replica) int64 {
	total := int64(0)
	for _, entry := range s.entries {
		if entry.Replica == self {
			total += entry.Units
		}
	}
	return total
}

// freeStamp is the first stamp from at on that the replica has not used.
func (s *logState) freeStamp(replica Replica, at int64) int64 {
	for {
		i := s.find(Entry{Stamp: at, Replica: replica})
		if i == len(s.entries) || s.entries[i].Stamp != at || s.entries[i].Replica != replica {
			return at
		}
		at++
	}
}

func (s *logState) find(e Entry) int {
	return sort.Search(len(s.entries), func(i int) bool { return !s.entries[i].before(e) })
}

func (s *logState) Merge(now int64, cells Cells) {
	s.prune(now)
	for _, entry := range cells.Entries {
		if entry.Stamp > now-s.window && entry.Stamp < now+s.window { // further ahead is a broken clock
			s.insert(entry)
		}
	}
}

func (s *logState) insert(e Entry) {
	at := s.find(e)
	if at < len(s.entries) && s.entries[at].Stamp == e.Stamp && s.entries[at].Replica == e.Replica {
		return
	}
	s.entries = append(s.entries, Entry{})
	copy(s.entries[at+1:], s.entries[at:])
	s.entries[at] = e
	s.used += e.Units
}

// prune forgets what has left the window: an entry counts while its stamp is later than now - window.
func (s *logState) prune(now int64) {
	gone := 0
	for gone < len(s.entries) && s.entries[gone].Stamp <= now-s.window {
		s.used -= s.entries[gone].Units
		gone++
	}
	s.entries = s.entries[gone:]
}

// Cells is the whole log, or, for one replica, the entries not yet read twice: a lost message is made up by the next.
func (s *logState) Cells(own Replica) Cells {
	cells := Cells{Kind: KindLog, Window: s.window}
	if own == 0 {
		cells.Entries = append(cells.Entries, s.entries...)
		return cells
	}
	newest := s.sent[0]
	for _, entry := range s.entries {
		if entry.Replica == own && (entry.Stamp > s.sent[1] || entry.Units < 0) {
			cells.Entries = append(cells.Entries, entry)
			newest = max(newest, entry.Stamp)
		}
	}
	s.sent = [2]int64{newest, s.sent[0]}
	return cells
}

func (s *logState) Size() int64 { return int64(len(s.entries)) }

func (s *logState) Expires() int64 {
	if len(s.entries) == 0 {
		return 0
	}
	return s.entries[len(s.entries)-1].Stamp + s.window
}
