package limit

import (
	"cmp"
	"maps"
	"slices"
)

// Entry is one grant in a replica's log, or something given back (negative units). Stamp, replica and number together
// are its name: no two entries share them.
type Entry struct {
	Stamp   int64 // nanoseconds since the Unix epoch
	Replica Replica
	Number  int64 // counts a replica's entries of one stamp, from 0
	Units   int64
}

// compare orders entries by their names.
func (e Entry) compare(f Entry) int {
	return cmp.Or(cmp.Compare(e.Stamp, f.Stamp), cmp.Compare(e.Replica, f.Replica), cmp.Compare(e.Number, f.Number))
}

// logState is the exact log: a set of entries that only grows and that time eats from behind. Merging is union.
type logState struct {
	window  int64
	entries []Entry // sorted by stamp, then replica
	holdings
	sent [2]int64 // own entries up to here went out at the last and at the last but one reading of Cells
}

// holdings is what the entries of a log sum up to, by replica.
type holdings struct {
	used int64 // what all replicas hold
	held map[Replica]int64
}

// count adds to what a replica holds. One that has given back more than it took holds nothing: it can't give back what
// others took.
func (h *holdings) count(replica Replica, units int64) {
	if h.held == nil {
		h.held = map[Replica]int64{}
	}
	h.used -= max(h.held[replica], 0)
	h.held[replica] += units
	h.used += max(h.held[replica], 0)
	if h.held[replica] == 0 {
		delete(h.held, replica)
	}
}

func (s *logState) Room(now int64, rule Rule) int64 {
	s.prune(now)
	return rule.Limit - s.used
}

func (s *logState) Wait(now int64, rule Rule, cost int64) int64 {
	if cost <= s.Room(now, rule) {
		return 0
	}
	if cost > rule.Limit {
		return Never
	}
	// What leaves may not be what makes room: a replica that gave back more than it still holds frees nothing with it.
	left := holdings{s.used, maps.Clone(s.held)}
	for i, entry := range s.entries {
		left.count(entry.Replica, -entry.Units)
		last := i == len(s.entries)-1 || s.entries[i+1].Stamp > entry.Stamp // of those that leave at once
		if last && cost <= rule.Limit-left.used {
			return max(entry.Stamp+s.window-now, 1)
		}
	}
	return s.window // not reached: an empty log has room for the limit
}

func (s *logState) Reset(now int64, _ Rule) int64 {
	s.prune(now)
	if len(s.entries) == 0 {
		return 0
	}
	return s.entries[len(s.entries)-1].Stamp + s.window - now
}

func (s *logState) Count(self Replica, now int64, _ Rule, amount int64) {
	s.prune(now)
	s.add(self, now, amount)
}

func (s *logState) GiveBack(self Replica, now int64, _ Rule, amount, age int64) int64 {
	s.prune(now)
	back := min(amount, s.held[self])
	if age >= s.window || back <= 0 {
		return 0
	}
	s.add(self, now-age, -back)
	return back
}

// add inserts an entry under the first number that is free.
func (s *logState) add(self Replica, at, units int64) {
	entry := Entry{Stamp: at, Replica: self, Units: units}
	for !s.insert(entry) {
		entry.Number++
	}
}

func (s *logState) Merge(now int64, cells Cells) {
	s.prune(now)
	for _, entry := range cells.Entries {
		if entry.Stamp > now-s.window && entry.Stamp < now+s.window { // further ahead is a broken clock
			s.insert(entry)
		}
	}
}

// insert says false, and changes nothing, when an entry of that name is there.
func (s *logState) insert(entry Entry) bool {
	at, found := slices.BinarySearchFunc(s.entries, entry, Entry.compare)
	if !found {
		s.entries = slices.Insert(s.entries, at, entry)
		s.count(entry.Replica, entry.Units)
	}
	return !found
}

// prune forgets what has left the window: an entry counts while its stamp is later than now - window.
func (s *logState) prune(now int64) {
	gone := 0
	for gone < len(s.entries) && s.entries[gone].Stamp <= now-s.window {
		s.count(s.entries[gone].Replica, -s.entries[gone].Units)
		gone++
	}
	s.entries = s.entries[gone:]
}

// Cells is the whole log, or, for one replica, the entries not yet read twice: a lost message is made up by the next.
func (s *logState) Cells(own Replica) Cells {
	cells := Cells{Kind: KindLog, Whole: own == 0, Window: s.window}
	if own == 0 {
		cells.Entries = append(cells.Entries, s.entries...)
		return cells
	}
	newest := s.sent[0]
	for _, entry := range s.entries {
		if entry.Replica == own && (entry.Stamp >= s.sent[1] || entry.Units < 0) {
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
