package wire

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"patternbench.dev/crdt-sidecar/internal/limit"
)

func sample() []Item {
	return []Item{
		{Key{1}, limit.Cells{Kind: limit.KindRing, Sent: 1e18, Window: 60e9, Slots: 2, Rings: []limit.Ring{
			{Replica: 7, Slots: []limit.Slot{{Epoch: 10, Granted: 3}, {Epoch: 11, Granted: 4, Returned: 1}}},
		}}},
		{Key{2}, limit.Cells{Kind: limit.KindBucket, Sent: 1e18, Whole: true, Window: 60e9, TAT: 5e18 / 2, Buckets: []limit.Bucket{
			{Replica: 8, Epoch: 2e18, Granted: 6e8, Returned: 1, Capacity: 3e9},
		}}},
		{Key{3}, limit.Cells{Kind: limit.KindLog, Sent: 1e18, Window: 1e9, Entries: []limit.Entry{
			{Stamp: 2e18, Replica: 9, Units: 2}, {Stamp: 2e18, Replica: 9, Number: 1, Units: -1},
		}}},
	}
}

func encode(items []Item) []byte {
	message := Start(Header{Sender: 42, Now: 1e18})
	for _, item := range items {
		message = Append(message, item)
	}
	return message
}

func TestAMessageComesOutAsItWentIn(t *testing.T) {
	header, items, err := Decode(encode(sample()))
	if err != nil || header != (Header{42, 1e18}) || !reflect.DeepEqual(items, sample()) {
		t.Fatalf("%v %+v %+v", err, header, items)
	}
}

func TestAMessageCutShortIsRefusedWhole(t *testing.T) {
	message := encode(sample())
	ends := map[int]bool{HeaderSize: true}
	for i := range sample() {
		ends[len(encode(sample()[:i+1]))] = true
	}
	for n := range len(message) {
		if _, items, err := Decode(message[:n]); (err == nil) != ends[n] || (err != nil && items != nil) {
			t.Errorf("cut at %d of %d: %v", n, len(message), err)
		}
	}
}

func TestGarbageNeverPanicsAndNeverOverflows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := encode(sample())
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			at := rapid.IntRange(len(magic), len(message)-1).Draw(t, "at")
			message[at] = rapid.Byte().Draw(t, "byte")
		}
		_, items, err := Decode(message)
		if err != nil {
			return
		}
		for _, item := range items { // what is believed must be safe to work with
			state := limit.StateFor(item.Cells)
			state.Merge(2e18, item.Cells)
			if item.Cells.Kind == limit.KindBucket && state.Expires() < 0 {
				t.Fatalf("overflow: %+v", item)
			}
		}
	})
}

func TestCellsOfTheFinestRuleAreRead(t *testing.T) {
	slots := make([]limit.Slot, limit.MaxSubWindows+1)
	for i := range slots {
		slots[i] = limit.Slot{Epoch: int64(10*len(slots) + i), Granted: 1}
	}
	finest := []Item{{Key{1}, limit.Cells{
		Kind: limit.KindRing, Sent: 1e18, Window: 60e9, Slots: len(slots), Rings: []limit.Ring{{Replica: 7, Slots: slots}},
	}}}
	if _, items, err := Decode(encode(finest)); err != nil || len(items) != 1 || len(items[0].Cells.Rings[0].Slots) != len(slots) {
		t.Fatalf("%v %+v", err, items)
	}
}
