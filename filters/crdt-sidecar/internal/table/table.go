// Package table holds the state of many keys, bounded in number, and knows which of them the peers have not seen.
package table

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"patternbench.dev/crdt-sidecar/internal/clock"
	"patternbench.dev/crdt-sidecar/internal/limit"
	"patternbench.dev/crdt-sidecar/internal/wire"
)

const shards = 64

// ErrFull says that a key is new and that there is no room for it; nothing is forgotten to make room.
var ErrFull = errors.New("the table of keys is full")

// Table is the keys of one node. Its methods may be called at the same time.
type Table struct {
	self    limit.Replica
	clock   *clock.Clock
	maxKeys int64
	keys    atomic.Int64
	entries atomic.Int64
	shards  [shards]shard

	Counters Counters
}

// Counters are what a table has done since it was made.
type Counters struct {
	Taken, Rejected, RefusedKeys, IgnoredCells, DroppedByAge atomic.Int64
}

// entriesPerKey bounds the entries of all exact logs together: this many for each key that may be held.
const entriesPerKey = 16

type shard struct {
	mu      sync.Mutex
	records map[wire.Key]*record
	dirty   []wire.Key
}

type record struct {
	state   limit.State
	window  int64
	kind    limit.Kind
	slots   int
	size    int64 // log entries
	touched int64 // monotonic nanoseconds of the last change
	dirty   bool
}

// New is an empty table for one life of a node.
func New(self limit.Replica, clk *clock.Clock, maxKeys int64) *Table {
	table := &Table{self: self, clock: clk, maxKeys: maxKeys}
	for i := range table.shards {
		table.shards[i].records = map[wire.Key]*record{}
	}
	return table
}

// Keys is how many keys are held.
func (t *Table) Keys() int64 { return t.keys.Load() }

// MaxKeys is how many keys may be held.
func (t *Table) MaxKeys() int64 { return t.maxKeys }

// KeyOf hashes a client's key together with what its state depends on, so that algorithms never share state.
func KeyOf(name []byte, rule limit.Rule) wire.Key {
	var shape [17]byte
	shape[0] = byte(rule.Algorithm)
	binary.LittleEndian.PutUint64(shape[1:], uint64(rule.Window))
	binary.LittleEndian.PutUint64(shape[9:], uint64(rule.SubWindow))
	hash := sha256.New()
	hash.Write(shape[:])
	hash.Write(name)
	var sum [32]byte
	hash.Sum(sum[:0])
	return wire.Key(sum[:16])
}

// Take counts cost if all of it fits.
func (t *Table) Take(name []byte, rule limit.Rule, cost int64) (limit.Answer, error) {
	return t.decide(name, rule, func(s limit.State, now int64) (limit.Answer, bool) {
		answer := limit.Take(s, t.self, now, rule, cost)
		return answer, answer.Allowed > 0
	})
}

// Lease counts as much of cost as fits into a share of what remains, in millionths.
func (t *Table) Lease(name []byte, rule limit.Rule, cost, share int64) (limit.Answer, error) {
	return t.decide(name, rule, func(s limit.State, now int64) (limit.Answer, bool) {
		answer := limit.Lease(s, t.self, now, rule, limit.PartOf(s, now, rule, cost, share))
		return answer, answer.Allowed > 0
	})
}

// Report counts cost whether it fits or not.
func (t *Table) Report(name []byte, rule limit.Rule, cost int64) (limit.Answer, error) {
	return t.decide(name, rule, func(s limit.State, now int64) (limit.Answer, bool) {
		return limit.Report(s, t.self, now, rule, cost), true
	})
}

// GiveBack takes back what this node leased age nanoseconds ago.
func (t *Table) GiveBack(name []byte, rule limit.Rule, cost, age int64) (limit.Answer, error) {
	return t.change(name, rule, func(s limit.State, now int64) (limit.Answer, bool) {
		answer := limit.GiveBack(s, t.self, now, rule, cost, age)
		return answer, answer.Allowed > 0
	})
}

// Peek is what Take would answer; it counts nothing and makes no key.
func (t *Table) Peek(name []byte, rule limit.Rule, cost int64) limit.Answer {
	key := KeyOf(name, rule)
	shard := t.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	held := shard.records[key]
	if held == nil {
		return limit.Peek(limit.NewState(rule), t.clock.Now(), rule, cost)
	}
	defer t.account(held)
	return limit.Peek(held.state, t.clock.Now(), rule, cost)
}

// action works on a state and says whether it changed the cells.
type action func(state limit.State, now int64) (limit.Answer, bool)

func (t *Table) decide(name []byte, rule limit.Rule, act action) (limit.Answer, error) {
	answer, err := t.change(name, rule, act)
	switch {
	case err != nil:
		t.Counters.RefusedKeys.Add(1)
	case answer.Allowed > 0:
		t.Counters.Taken.Add(1)
	default:
		t.Counters.Rejected.Add(1)
	}
	return answer, err
}

func (t *Table) change(name []byte, rule limit.Rule, act action) (limit.Answer, error) {
	key := KeyOf(name, rule)
	shard := t.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	held := shard.records[key]
	if held == nil {
		held = t.hold(shard, key, limit.NewState(rule))
	}
	if held == nil || t.logsFull(held) {
		return limit.Answer{}, ErrFull
	}
	answer, changed := act(held.state, t.clock.Now())
	t.account(held)
	if changed {
		t.touch(shard, key, held, true)
	}
	return answer, nil
}

// account keeps the number of log entries up to date after a state was used.
func (t *Table) account(held *record) {
	size := held.state.Size()
	t.entries.Add(size - held.size)
	held.size = size
}

func (t *Table) logsFull(held *record) bool {
	return held.kind == limit.KindLog && t.entries.Load() >= t.maxKeys*entriesPerKey
}

// hold makes room for a new key, or gives nil when there is none.
func (t *Table) hold(shard *shard, key wire.Key, state limit.State) *record {
	if t.keys.Add(1) > t.maxKeys {
		t.keys.Add(-1)
		return nil
	}
	cells := state.Cells(0)
	held := &record{state: state, kind: cells.Kind, window: cells.Window, slots: cells.Slots, touched: t.clock.Monotonic()}
	shard.records[key] = held
	return held
}

func (t *Table) touch(shard *shard, key wire.Key, held *record, dirty bool) {
	held.touched = t.clock.Monotonic()
	if dirty && !held.dirty {
		held.dirty = true
		shard.dirty = append(shard.dirty, key)
	}
}

func (t *Table) shard(key wire.Key) *shard { return &t.shards[Part(key)] }

// Merge joins what a peer sent.
func (t *Table) Merge(items []wire.Item) {
	for _, item := range items {
		t.merge(item)
	}
}

func (t *Table) merge(item wire.Item) {
	shard := t.shard(item.Key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	held := shard.records[item.Key]
	now := t.clock.Now()
	cells, ignored := item.Cells.Foreign(t.self, now)
	t.Counters.IgnoredCells.Add(ignored)
	if cells.Empty() {
		return
	}
	item.Cells = cells
	if held == nil {
		held = t.adopt(shard, item, now)
	}
	if held == nil || held.kind != item.Cells.Kind || held.window != item.Cells.Window || held.slots != item.Cells.Slots {
		t.Counters.IgnoredCells.Add(1)
		return
	}
	if t.logsFull(held) {
		t.Counters.IgnoredCells.Add(1)
		return
	}
	held.state.Merge(now, item.Cells)
	t.account(held)
	t.touch(shard, item.Key, held, false)
}

// adopt makes a key for a peer's cells, unless they no longer matter.
func (t *Table) adopt(shard *shard, item wire.Item, now int64) *record {
	state := limit.StateFor(item.Cells)
	state.Merge(now, item.Cells)
	if state.Expires() <= now {
		return nil
	}
	return t.hold(shard, item.Key, limit.StateFor(item.Cells))
}

// Changed hands out this node's own cells of every key that changed since the last call.
func (t *Table) Changed(emit func(wire.Item)) {
	for i := range t.shards {
		shard := &t.shards[i]
		shard.mu.Lock()
		for _, key := range shard.dirty {
			if held := shard.records[key]; held != nil && held.dirty {
				held.dirty = false
				emit(wire.Item{Key: key, Cells: held.state.Cells(t.self)})
			}
		}
		shard.dirty = shard.dirty[:0]
		shard.mu.Unlock()
	}
}

// Shards is how many parts Shard can be asked for.
const Shards = shards

// Part is in which of them a key is, on every node.
func Part(key wire.Key) int { return int(key[0] % shards) }

// Shard hands out all replicas' cells of every key in one part of the table. A node that restarts gets its own former
// cells back this way.
func (t *Table) Shard(part int, emit func(wire.Item)) {
	shard := &t.shards[part]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for key, held := range shard.records {
		emit(wire.Item{Key: key, Cells: held.state.Cells(0)})
	}
}

// minimumIdle is the least age, in monotonic time, at which an unchanged key may be dropped.
const minimumIdle = int64(5 * time.Second)

// Sweep drops the keys whose cells no longer matter, and those unchanged for two windows whatever their cells say
// (a peer with a clock in the future must not make us hold them for ever).
func (t *Table) Sweep() {
	now, monotonic := t.clock.Now(), t.clock.Monotonic()
	for i := range t.shards {
		shard := &t.shards[i]
		shard.mu.Lock()
		for key, held := range shard.records {
			if droppable(held, now, monotonic-held.touched) {
				t.entries.Add(-held.size)
				delete(shard.records, key)
				t.keys.Add(-1)
				t.Counters.DroppedByAge.Add(1)
			}
		}
		shard.mu.Unlock()
	}
}

func droppable(held *record, now, idle int64) bool {
	if idle <= minimumIdle {
		return false
	}
	if held.state.Expires() <= now {
		return true
	}
	return held.kind != limit.KindBucket && idle > 2*held.window+minimumIdle // a bucket's debt is bounded by itself
}
