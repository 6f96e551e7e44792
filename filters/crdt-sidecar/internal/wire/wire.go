// Package wire writes and reads the messages between sidecars: a header, then the cells of one key after another.
// Whatever arrives is checked before it is believed: a decoder never panics and never allocates more than it was sent.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"patternbench.dev/crdt-sidecar/internal/limit"
)

// magic begins every message; its last byte is the version of the format.
const magic = "PBS\x01"

// Key is the hash of a client's key with what its state depends on.
type Key [16]byte

// Header says who sent a message, and when by its clock (nanoseconds since the Unix epoch).
type Header struct {
	Sender limit.Replica
	Now    int64
}

// Item is the cells of one key.
type Item struct {
	Key   Key
	Cells limit.Cells
}

// Start is the beginning of a message.
func Start(header Header) []byte {
	buffer := append(make([]byte, 0, 1400), magic...)
	buffer = binary.LittleEndian.AppendUint64(buffer, uint64(header.Sender))
	return binary.LittleEndian.AppendUint64(buffer, uint64(header.Now))
}

// HeaderSize is the length of what Start gives.
const HeaderSize = len(magic) + 16

// Append adds one key's cells to a message.
func Append(buffer []byte, item Item) []byte {
	cells := item.Cells
	buffer = append(buffer, item.Key[:]...)
	buffer = append(buffer, byte(cells.Kind)|wholeBit(cells.Whole))
	buffer = binary.AppendUvarint(buffer, uint64(cells.Window))
	switch cells.Kind {
	case limit.KindRing:
		return appendRings(buffer, cells)
	case limit.KindBucket:
		return appendBuckets(buffer, cells)
	default:
		return appendEntries(buffer, cells)
	}
}

// whole is the bit of the kind's byte that says that all replicas' cells follow.
const whole = 0x80

func wholeBit(isWhole bool) byte {
	if isWhole {
		return whole
	}
	return 0
}

func appendRings(buffer []byte, cells limit.Cells) []byte {
	buffer = binary.AppendUvarint(buffer, uint64(cells.Slots))
	buffer = binary.AppendUvarint(buffer, uint64(len(cells.Rings)))
	for _, ring := range cells.Rings {
		buffer = binary.LittleEndian.AppendUint64(buffer, uint64(ring.Replica))
		for _, slot := range ring.Slots {
			buffer = appendNumbers(buffer, slot.Epoch, slot.Granted, slot.Returned)
		}
	}
	return buffer
}

func appendBuckets(buffer []byte, cells limit.Cells) []byte {
	buffer = binary.AppendUvarint(buffer, uint64(cells.TAT))
	buffer = binary.AppendUvarint(buffer, uint64(len(cells.Buckets)))
	for _, cell := range cells.Buckets {
		buffer = binary.LittleEndian.AppendUint64(buffer, uint64(cell.Replica))
		buffer = appendNumbers(buffer, cell.Epoch, cell.Granted, cell.Returned, cell.Capacity)
	}
	return buffer
}

func appendEntries(buffer []byte, cells limit.Cells) []byte {
	buffer = binary.AppendUvarint(buffer, uint64(len(cells.Entries)))
	for _, entry := range cells.Entries {
		buffer = binary.LittleEndian.AppendUint64(buffer, uint64(entry.Replica))
		buffer = appendNumbers(buffer, entry.Stamp, entry.Number)
		buffer = binary.AppendVarint(buffer, entry.Units)
	}
	return buffer
}

func appendNumbers(buffer []byte, numbers ...int64) []byte {
	for _, number := range numbers {
		buffer = binary.AppendUvarint(buffer, uint64(number))
	}
	return buffer
}

// ErrMalformed is wrapped by every error of Decode.
var ErrMalformed = errors.New("not a message of this version")

// Decode reads a whole message and hands out its items; nothing is handed out of a message that is not sound to its end.
func Decode(message []byte) (Header, []Item, error) {
	if len(message) < HeaderSize || string(message[:len(magic)]) != magic {
		return Header{}, nil, fmt.Errorf("%w: wrong beginning", ErrMalformed)
	}
	r := &reader{rest: message[len(magic):]}
	header := Header{Sender: limit.Replica(r.fixed()), Now: r.signed()}
	var items []Item
	for len(r.rest) > 0 && !r.failed {
		item := r.item()
		item.Cells.Sent = header.Now
		items = append(items, item)
	}
	if r.failed || header.Now < 0 {
		return Header{}, nil, fmt.Errorf("%w: cut short or out of range", ErrMalformed)
	}
	return header, items, nil
}

// reader takes values off a message; after the first fault it gives zeros and stays failed.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if r.failed || n > len(r.rest) {
		r.failed = true
		return make([]byte, n)
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) fixed() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *reader) signed() int64 { return int64(r.fixed()) }

// leastWindow is a millisecond, the shortest window of a rule.
const leastWindow = 1_000_000

// most bounds every number: what the sums of a thousand of them still fit into an int64.
const most = 1 << 62

func (r *reader) number() int64 {
	value, n := binary.Uvarint(r.rest)
	if n <= 0 || value >= most {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return int64(value)
}

func (r *reader) units() int64 {
	value, n := binary.Varint(r.rest)
	if n <= 0 || value > limit.MaxUnits || value < -limit.MaxUnits {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// count reads how many elements follow; each takes at least size bytes, so a lie can't make us allocate.
func (r *reader) count(size int) int {
	count := r.number()
	if count > int64(len(r.rest)/size) {
		r.failed = true
		return 0
	}
	return int(count)
}

func (r *reader) within(value, least, most int64) int64 {
	if value < least || value > most {
		r.failed = true
		return least
	}
	return value
}

func (r *reader) item() Item {
	item := Item{Key: Key(r.take(16))}
	kind := r.take(1)[0]
	cells := limit.Cells{Kind: limit.Kind(kind &^ whole), Whole: kind&whole != 0}
	cells.Window = r.within(r.number(), leastWindow, limit.MaxWindow)
	switch cells.Kind {
	case limit.KindRing:
		r.rings(&cells)
	case limit.KindBucket:
		r.buckets(&cells)
	case limit.KindLog:
		r.entries(&cells)
	default:
		r.failed = true
	}
	item.Cells = cells
	return item
}

func (r *reader) rings(cells *limit.Cells) {
	cells.Slots = int(r.within(r.number(), 1, limit.MaxSubWindows+1))
	for range r.count(8 + 3*cells.Slots) {
		ring := limit.Ring{Replica: limit.Replica(r.fixed()), Slots: make([]limit.Slot, cells.Slots)}
		for i := range ring.Slots {
			ring.Slots[i] = r.slot(int64(i), *cells)
		}
		cells.Rings = append(cells.Rings, ring)
	}
}

func (r *reader) slot(at int64, cells limit.Cells) limit.Slot {
	slots, length := int64(cells.Slots), limit.SubLength(cells.Window, cells.Slots)
	slot := limit.Slot{Epoch: r.within(r.number(), 0, most/length-slots), Granted: r.amount()}
	slot.Returned = r.within(r.number(), 0, slot.Granted)
	if slot.Epoch > 0 && slot.Epoch%slots != at {
		r.failed = true
	}
	return slot
}

// amount is a count of units that stays far from overflow when many are added; emission is one of nanoseconds.
func (r *reader) amount() int64 { return r.within(r.number(), 0, limit.MaxGranted) }

func (r *reader) emission() int64 { return r.within(r.number(), 0, limit.MaxEmission) }

func (r *reader) buckets(cells *limit.Cells) {
	cells.TAT = r.number()
	for range r.count(8 + 4) {
		cell := limit.Bucket{Replica: limit.Replica(r.fixed()), Epoch: r.number(), Granted: r.emission()}
		cell.Returned = r.within(r.number(), 0, cell.Granted)
		cell.Capacity = r.within(r.number(), 0, limit.MaxFill)
		cells.Buckets = append(cells.Buckets, cell)
	}
}

func (r *reader) entries(cells *limit.Cells) {
	for range r.count(8 + 3) {
		cells.Entries = append(cells.Entries, limit.Entry{
			Replica: limit.Replica(r.fixed()), Stamp: r.number(), Number: r.number(), Units: r.units(),
		})
	}
}
