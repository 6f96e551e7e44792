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
	news []news
}

// news is an entry of this node's own that the others may not have: it goes out twice, as a message may be lost.
type news struct {
	entry Entry
	told  int  // how often it went out to everyone
	seen  bool // by anybody: it must not change any more
}

// timesTold is how often an own entry goes out; a node that misses both messages gets it by the next full exchange.
const timesTold = 2

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
	if left := back - s.unmake(now-age, back); left > 0 {
		s.add(self, now-age, -left)
	}
	return back
}

// unmake takes units off the newest grants until an instant that no one has been told of, and says how many: what was
// never told needs no second entry that takes it back.
func (s *logState) unmake(until, units int64) int64 {
	unmade := int64(0)
	for i := len(s.news) - 1; i >= 0 && unmade < units; i-- {
		item := &s.news[i]
		if item.seen || item.entry.Units <= 0 || item.entry.Stamp > until {
			continue
		}
		off := min(units-unmade, item.entry.Units)
		item.entry.Units -= off
		unmade += off
		s.shrink(item.entry)
	}
	s.news = slices.DeleteFunc(s.news, func(n news) bool { return n.entry.Units == 0 })
	return unmade
}

// shrink gives the entry of that name as many units as this one has, and forgets it when it has none.
func (s *logState) shrink(entry Entry) {
	at, _ := slices.BinarySearchFunc(s.entries, entry, Entry.compare)
	s.count(entry.Replica, entry.Units-s.entries[at].Units)
	s.entries[at].Units = entry.Units
	if entry.Units == 0 {
		s.entries = slices.Delete(s.entries, at, at+1)
	}
}

// add inserts an entry under the first number that is free.
func (s *logState) add(self Replica, at, units int64) {
	entry := Entry{Stamp: at, Replica: self, Units: units}
	for !s.insert(entry) {
		entry.Number++
	}
	s.news = append(s.news, news{entry: entry})
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
	if gone > 0 {
		s.news = slices.DeleteFunc(s.news, func(n news) bool { return n.entry.Stamp <= now-s.window })
	}
}

// Cells is the whole log, or, for this node alone, its entries not yet read twice: a lost message is made up by the
// next.
func (s *logState) Cells(own Replica) Cells {
	cells := Cells{Kind: KindLog, Whole: own == 0, Window: s.window}
	if own == 0 {
		cells.Entries = append(cells.Entries, s.entries...)
		s.tell(0)
		return cells
	}
	for _, item := range s.news {
		cells.Entries = append(cells.Entries, item.entry)
	}
	s.tell(1)
	return cells
}

// tell notes that the news went out, to everyone (1) or to someone (0).
func (s *logState) tell(everyone int) {
	for i := range s.news {
		s.news[i].told += everyone
		s.news[i].seen = true
	}
	s.news = slices.DeleteFunc(s.news, func(n news) bool { return n.told >= timesTold })
}

func (s *logState) Size() int64 { return int64(len(s.entries)) }

func (s *logState) Expires() int64 {
	if len(s.entries) == 0 {
		return 0
	}
	return s.entries[len(s.entries)-1].Stamp + s.window
}
