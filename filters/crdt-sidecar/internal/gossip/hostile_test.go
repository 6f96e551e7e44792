package gossip

import (
	"net"
	"testing"
	"time"

	"patternbench.dev/crdt-sidecar/internal/clock"
	"patternbench.dev/crdt-sidecar/internal/limit"
	"patternbench.dev/crdt-sidecar/internal/table"
	"patternbench.dev/crdt-sidecar/internal/wire"
)

// userMessage is memberlist's number for a message to its delegate, the first byte of a packet.
const userMessage = 8

// forge sends one packet over UDP, as anybody can who reaches the port, and waits until the node has read it.
func forge(t *testing.T, to *member, item wire.Item) {
	t.Helper()
	conn, err := net.Dial("udp", to.node.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	seen := func() int64 { return to.node.Counters.MessagesReceived.Load() + to.node.Counters.BadMessages.Load() }
	before := seen()
	packet := append([]byte{userMessage}, wire.Append(wire.Start(wire.Header{Sender: 99, Now: time.Now().UnixNano()}), item)...)
	if _, err := conn.Write(packet); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the packet is read", func() bool { return seen() > before })
}

// cellsOf is one replica's cells of a rule as an attacker would write them: at a time, with so much given back.
func cellsOf(rule limit.Rule, replica limit.Replica, at, granted, returned int64) limit.Cells {
	state := limit.NewState(rule)
	cells := state.Cells(0)
	switch cells.Kind {
	case limit.KindRing:
		ring := limit.Ring{Replica: replica, Slots: make([]limit.Slot, cells.Slots)}
		epoch := at / limit.SubLength(cells.Window, cells.Slots)
		ring.Slots[epoch%int64(cells.Slots)] = limit.Slot{Epoch: epoch, Granted: granted, Returned: returned}
		cells.Rings = []limit.Ring{ring}
	case limit.KindBucket:
		unit := rule.Window / rule.Limit
		cells.TAT = at
		cells.Buckets = []limit.Bucket{{Replica: replica, Epoch: at, Granted: granted * unit, Returned: returned * unit}}
	case limit.KindLog:
		cells.Entries = []limit.Entry{{Stamp: at, Replica: replica, Number: 7, Units: granted - returned}}
	}
	return cells
}

func TestNoPacketWithoutASecretRemovesALimit(t *testing.T) {
	group := startGroup(t, 2, 5*time.Millisecond)
	defer stopAll(group)
	const units, stranger = 5, limit.Replica(4242)
	attacks := map[string]func(rule limit.Rule, self, peer limit.Replica) limit.Cells{
		"a future epoch of its own": func(rule limit.Rule, self, _ limit.Replica) limit.Cells {
			return cellsOf(rule, self, time.Now().Add(20*365*24*time.Hour).UnixNano(), 0, 0)
		},
		"a near epoch of its own": func(rule limit.Rule, self, _ limit.Replica) limit.Cells {
			return cellsOf(rule, self, time.Now().UnixNano()+limit.MaxAhead/2, 0, 0)
		},
		"its own units given back": func(rule limit.Rule, self, _ limit.Replica) limit.Cells {
			return cellsOf(rule, self, time.Now().UnixNano(), units, units)
		},
		"a future epoch of a peer": func(rule limit.Rule, _, peer limit.Replica) limit.Cells {
			return cellsOf(rule, peer, time.Now().Add(20*365*24*time.Hour).UnixNano(), 0, 0)
		},
		"more given back than a stranger took": func(rule limit.Rule, _, _ limit.Replica) limit.Cells {
			return cellsOf(rule, stranger, time.Now().UnixNano(), 0, 1000)
		},
	}
	for what, attack := range attacks {
		everyAlgorithm(t, units, func(t *testing.T, rule limit.Rule) {
			name := []byte(what)
			for i := range units { // both nodes have taken some
				if answer, err := group[i%2].table.Take(name, rule, 1); err != nil || answer.Allowed != 1 {
					t.Fatal(answer, err)
				}
				eventually(t, "the other node knows", func() bool {
					return group[(i+1)%2].table.Peek(name, rule, 1).Remaining == int64(units-1-i)
				})
			}
			self, peer := group[0].node.self, group[1].node.self
			forge(t, group[0], wire.Item{Key: table.KeyOf(name, rule), Cells: attack(rule, self, peer)})
			for range 100 {
				if answer, _ := group[0].table.Take(name, rule, 1); answer.Allowed > 0 {
					t.Fatalf("%s: admitted beyond %d of %d", what, units, units)
				}
			}
		})
	}
}

func TestACellFromTheFutureHidesNothingThatAPeerCountsLater(t *testing.T) {
	group := startGroup(t, 2, 5*time.Millisecond)
	defer stopAll(group)
	future := time.Now().Add(20 * 365 * 24 * time.Hour).UnixNano()
	everyAlgorithm(t, 10, func(t *testing.T, rule limit.Rule) {
		group[1].take(t, rule)
		eventually(t, "the first unit is known", func() bool { return group[0].room(rule) == 9 })
		forge(t, group[0], wire.Item{Key: table.KeyOf([]byte("client"), rule), Cells: cellsOf(rule, group[1].node.self, future, 0, 0)})
		for range 4 {
			group[1].take(t, rule)
		}
		eventually(t, "all five units are known", func() bool { return group[0].room(rule) == 5 })
	})
}

func TestStrangersWhoSendFillNoMemory(t *testing.T) {
	group := startGroup(t, 1, time.Second)
	defer stopAll(group)
	for sender := range limit.Replica(5 * mostSkews) {
		group[0].node.NotifyMsg(wire.Start(wire.Header{Sender: sender, Now: time.Now().UnixNano()}))
	}
	group[0].node.skewing.Lock()
	defer group[0].node.skewing.Unlock()
	if kept := len(group[0].node.skews); kept > mostSkews {
		t.Errorf("the skews of %d senders are kept", kept)
	}
}

func TestWhoeverLacksTheSecretIsNotBelieved(t *testing.T) {
	secret := []byte("0123456789abcdef")
	first := startWith(t, clock.New(clock.Machine()), secret, "a", 0, 5*time.Millisecond)
	second := startWith(t, clock.New(clock.Machine()), secret, "b", 0, 5*time.Millisecond, first.node.Address())
	intruder := startMember(t, "c", 0, 5*time.Millisecond, first.node.Address())
	defer stopAll([]*member{first, second, intruder})
	eventually(t, "those with the secret see each other", func() bool { return first.node.Live() == 2 && second.node.Live() == 2 })
	if intruder.node.Live() != 1 {
		t.Error("joined without the secret")
	}
	rule := ruleOf(limit.FixedWindow, 5)
	conn, err := net.Dial("udp", first.node.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	item := wire.Item{Key: table.KeyOf([]byte("client"), rule), Cells: cellsOf(rule, 4242, time.Now().UnixNano(), 5, 0)}
	for range 3 {
		packet := wire.Append(wire.Start(wire.Header{Sender: 99, Now: time.Now().UnixNano()}), item)
		_, _ = conn.Write(append([]byte{userMessage}, packet...))
	}
	second.take(t, rule) // what comes after the packets is read after them
	eventually(t, "the peer's unit is known", func() bool { return first.room(rule) == 4 })
}

// hands is a clock that the test moves.
type hands struct{ wall, monotonic int64 }

func (h *hands) read() (int64, int64) { return h.wall, h.monotonic }

func (h *hands) pass(d time.Duration) { h.wall += int64(d); h.monotonic += int64(d) }

// recorder is a node with a secret, but without a network, and with a clock that the test moves.
func recorder() (*Node, *hands) {
	h := &hands{wall: time.Now().UnixNano()}
	clk := clock.New(h.read)
	return &Node{
		config: Config{Secret: []byte("0123456789abcdef")}, self: 1, table: table.New(1, clk, 100), clock: clk,
		skews: map[limit.Replica]skew{},
	}, h
}

func TestARecordedMessageThatIsSentAgainDrainsNoBucket(t *testing.T) {
	for _, ahead := range []time.Duration{0, 50 * time.Second, -50 * time.Second} { // of the peer's clock
		for _, algorithm := range []limit.Algorithm{limit.TokenBucket, limit.LeakyBucket, limit.GCRA} {
			node, h := recorder()
			rule, _ := limit.NewRule(algorithm, 10, 10_000, 0)
			peer, sent := limit.NewState(rule), h.wall+int64(ahead)
			limit.Lease(peer, 2, sent, rule, 10)
			item := wire.Item{Key: table.KeyOf([]byte("client"), rule), Cells: peer.Cells(2)}
			message := wire.Append(wire.Start(wire.Header{Sender: 2, Now: sent}), item)
			room := func() int64 { return node.table.Peek([]byte("client"), rule, 1).Remaining }
			node.NotifyMsg(message)
			if room() != 0 {
				t.Fatalf("algorithm %d: the peer's units were not believed: room for %d", algorithm, room())
			}
			for range 20 {
				h.pass(14 * time.Second)
				node.Skew()
				node.table.Sweep()
				node.NotifyMsg(message)
				if room() != 10 {
					t.Fatalf("algorithm %d, %s ahead: an old message leaves %d of 10", algorithm, ahead, room())
				}
			}
			if late := node.Counters.BadMessages.Load(); late != 20 {
				t.Errorf("%d late messages counted of 20", late)
			}
		}
	}
}

func TestMessagesThatOvertakeEachOtherOrComeFromASlewedClockAreBelieved(t *testing.T) {
	node, h := recorder()
	for second := range int64(600) {
		h.pass(time.Second)
		slewed := int64(30*time.Second) - min(second, 500)*int64(time.Second)/20
		for _, under := range []time.Duration{0, 2 * time.Second} {
			node.NotifyMsg(wire.Start(wire.Header{Sender: 2, Now: h.wall + slewed - int64(under)}))
		}
	}
	if late := node.Counters.BadMessages.Load(); late != 0 {
		t.Errorf("%d of 1,200 honest messages were refused", late)
	}
}
