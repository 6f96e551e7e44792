package limit

import (
	"cmp"
	"slices"
)

// Slot is what one replica counted in one sub-window; a later epoch overwrites an earlier one, so nothing is deleted.
type Slot struct {
	Epoch    int64 // the sub-window's number since the Unix epoch
	Granted  int64 // grows only, within an epoch
	Returned int64 // grows only, within an epoch
}

// join is the lexicographic maximum: by epoch, then each count by its own maximum.
func (s Slot) join(t Slot) Slot {
	if s.Epoch != t.Epoch {
		if s.Epoch > t.Epoch {
			return s
		}
		return t
	}
	return Slot{Epoch: s.Epoch, Granted: max(s.Granted, t.Granted), Returned: max(s.Returned, t.Returned)}
}

// Ring is the newest sub-windows of one replica: sub-window e lies in slot e modulo their number.
type Ring struct {
	Replica Replica
	Slots   []Slot
}

// newest is the latest epoch among the slots.
func (r Ring) newest() int64 {
	newest := int64(0)
	for _, slot := range r.Slots {
		newest = max(newest, slot.Epoch)
	}
	return newest
}

// ringState holds the windows: fixed (one slot) and sliding counter (one slot more than sub-windows).
//
// What a peer whose clock is ahead counts in a sub-window that has not begun here is kept apart until it does: in the ring it
// would overwrite what that peer counted in a sub-window that still matters.
type ringState struct {
	window int64
	slots  int
	rings  []Ring
	ahead  []Ring
}

func newRings(window int64, slots int) *ringState { return &ringState{window: window, slots: slots} }

// whole is how many sub-windows make up the window.
func (s *ringState) whole() int { return max(s.slots-1, 1) }

// length of a sub-window: whole microseconds, rounded up, as in the filter's own core.
func (s *ringState) length() int64 { return SubLength(s.window, s.slots) }

// SubLength is the length of a sub-window in nanoseconds.
func SubLength(window int64, slots int) int64 {
	return mulDivUp(window/microsecond, 1, int64(max(slots-1, 1))) * microsecond
}

func (s *ringState) Room(now int64, rule Rule) int64 {
	s.catchUp(now)
	length := s.length()
	epoch := now / length
	room := rule.Limit - s.sum(epoch-int64(s.whole())+1, epoch)
	if s.slots > 1 {
		left := length - now%length
		room -= mulDivUp(s.sum(epoch-int64(s.whole()), epoch-int64(s.whole())), left, length)
	}
	return room
}

func (s *ringState) Wait(now int64, rule Rule, cost int64) int64 {
	if s.Room(now, rule) >= cost {
		return 0
	}
	if cost > rule.Limit {
		return Never
	}
	epoch := now / s.length()
	for ahead := int64(0); ahead <= int64(s.slots); ahead++ {
		if at, ok := s.fitsWithin(epoch+ahead, now, rule.Limit-cost); ok {
			return max(at-now, 1)
		}
	}
	return s.window // not reached: when every sub-window has slid out, cost fits
}

// fitsWithin is the first instant of a sub-window, from now on, at which at most spare units still count.
func (s *ringState) fitsWithin(epoch, now, spare int64) (int64, bool) {
	length := s.length()
	from, end := max(epoch*length, now), (epoch+1)*length
	spare -= s.sum(epoch-int64(s.whole())+1, epoch)
	if spare < 0 {
		return 0, false
	}
	oldest := s.oldest(epoch)
	if oldest <= spare {
		return from, true
	}
	at := max(end-mulDivDown(spare, length, oldest), from)
	return at, at < end
}

func (s *ringState) oldest(epoch int64) int64 {
	if s.slots == 1 {
		return 0
	}
	return s.sum(epoch-int64(s.whole()), epoch-int64(s.whole()))
}

func (s *ringState) Reset(now int64, _ Rule) int64 {
	length := s.length()
	if s.slots == 1 {
		return length - now%length
	}
	used := func(slot Slot) bool { return slot.Granted > slot.Returned }
	return max((s.newest(used)+int64(s.slots))*length-now, 0)
}

func (s *ringState) Count(self Replica, now int64, _ Rule, amount int64) {
	slot := s.slot(self, now/s.length())
	slot.Granted = min(slot.Granted+amount, MaxGranted)
}

func (s *ringState) GiveBack(self Replica, now int64, _ Rule, amount, age int64) int64 {
	epoch := (now - age) / s.length()
	if epoch <= now/s.length()-int64(s.slots) {
		return 0
	}
	slot := s.existing(self, epoch)
	if slot == nil {
		return 0
	}
	back := min(amount, slot.Granted-slot.Returned)
	slot.Returned += back
	return back
}

func (s *ringState) Merge(now int64, cells Cells) {
	s.catchUp(now)
	for _, ring := range cells.Rings {
		for i, slot := range ring.Slots {
			s.merge(now, ring.Replica, i, slot)
		}
	}
}

func (s *ringState) merge(now int64, replica Replica, i int, slot Slot) {
	rings := &s.rings
	if slot.Epoch > now/s.length() {
		rings = &s.ahead
	}
	if !s.admits(rings, replica, now) {
		return
	}
	mine := ringOf(rings, replica, s.slots)
	mine.Slots[i] = mine.Slots[i].join(slot)
}

// admits is whether there is room for a replica's ring; when there are as many as may be, those make room that are over.
func (s *ringState) admits(rings *[]Ring, replica Replica, now int64) bool {
	if _, found := findRing(*rings, replica); found || len(*rings) < MaxReplicas {
		return true
	}
	first := now/s.length() - int64(s.whole()) // the oldest sub-window that still counts
	*rings = slices.DeleteFunc(*rings, func(r Ring) bool { return r.newest() < first })
	return len(*rings) < MaxReplicas
}

// catchUp takes over what was kept apart of sub-windows that have begun.
func (s *ringState) catchUp(now int64) {
	if len(s.ahead) == 0 {
		return
	}
	kept := s.ahead
	s.ahead = nil
	for _, ring := range kept {
		for i, slot := range ring.Slots {
			if slot.Epoch > 0 {
				s.merge(now, ring.Replica, i, slot)
			}
		}
	}
}

func (s *ringState) Cells(own Replica) Cells {
	cells := Cells{Kind: KindRing, Whole: own == 0, Window: s.window, Slots: s.slots}
	for _, ring := range slices.Concat(s.rings, s.ahead) {
		if own == 0 || ring.Replica == own {
			cells.Rings = append(cells.Rings, Ring{ring.Replica, append([]Slot(nil), ring.Slots...)})
		}
	}
	return cells
}

func (s *ringState) Size() int64 { return 0 }

func (s *ringState) Expires() int64 {
	newest := s.newest(func(Slot) bool { return true })
	for _, ring := range s.ahead {
		newest = max(newest, ring.newest())
	}
	return (newest + int64(s.slots)) * s.length()
}

// newest is the latest epoch among the slots of a sort; 0 when there is none.
func (s *ringState) newest(of func(Slot) bool) int64 {
	newest := int64(0)
	for _, ring := range s.rings {
		for _, slot := range ring.Slots {
			if of(slot) {
				newest = max(newest, slot.Epoch)
			}
		}
	}
	return newest
}

// sum is what all replicas counted in the sub-windows from first to last, both included.
func (s *ringState) sum(first, last int64) int64 {
	total := int64(0)
	for i := range s.rings {
		for _, slot := range s.rings[i].Slots {
			if slot.Epoch >= first && slot.Epoch <= last {
				total += slot.Granted - slot.Returned
			}
		}
	}
	return max(total, 0)
}

// slot is the replica's slot for an epoch, overwritten when it held an older one.
func (s *ringState) slot(replica Replica, epoch int64) *Slot {
	slot := &s.ring(replica).Slots[epoch%int64(s.slots)]
	if slot.Epoch < epoch {
		*slot = Slot{Epoch: epoch}
	}
	return slot
}

func (s *ringState) existing(replica Replica, epoch int64) *Slot {
	for i := range s.rings {
		slot := &s.rings[i].Slots[epoch%int64(s.slots)]
		if s.rings[i].Replica == replica && slot.Epoch == epoch {
			return slot
		}
	}
	return nil
}

func (s *ringState) ring(replica Replica) *Ring { return ringOf(&s.rings, replica, s.slots) }

func findRing(rings []Ring, replica Replica) (int, bool) {
	return slices.BinarySearchFunc(rings, replica, func(r Ring, id Replica) int { return cmp.Compare(r.Replica, id) })
}

// ringOf is the replica's ring, made when it is new; rings stay sorted so that equal states look equal.
func ringOf(rings *[]Ring, replica Replica, slots int) *Ring {
	at, found := findRing(*rings, replica)
	if !found {
		*rings = slices.Insert(*rings, at, Ring{Replica: replica, Slots: make([]Slot, slots)})
	}
	return &(*rings)[at]
}
