package gossip

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"patternbench.dev/crdt-sidecar/internal/clock"
	"patternbench.dev/crdt-sidecar/internal/limit"
	"patternbench.dev/crdt-sidecar/internal/table"
	"patternbench.dev/crdt-sidecar/internal/wire"
)

// cut is a real transport over loopback whose way to some addresses can be cut.
type cut struct {
	*memberlist.NetTransport
	mu      sync.Mutex
	blocked map[string]bool
	dials   int
	hang    map[string]chan struct{} // streams to these addresses wait until the channel closes
}

var errCut = errors.New("the network is cut")

func (c *cut) isBlocked(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocked[address]
}

func (c *cut) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	if c.isBlocked(to.Addr) {
		return time.Now(), nil // a lost packet
	}
	return c.NetTransport.WriteToAddress(b, to)
}

func (c *cut) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	if c.isBlocked(to.Addr) {
		return nil, errCut
	}
	c.mu.Lock()
	c.dials++
	hang := c.hang[to.Addr]
	c.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return c.NetTransport.DialAddressTimeout(to, timeout)
}

type member struct {
	node  *Node
	table *table.Table
	wire  *cut
}

var lives int

// startMember starts a node on a free loopback port, or on the port of one that has ended.
func startMember(t *testing.T, name string, port int, interval time.Duration, join ...string) *member {
	t.Helper()
	return startWith(t, clock.New(clock.Machine()), nil, name, port, interval, join...)
}

// startWith starts a node with a clock and a secret.
func startWith(t *testing.T, clk *clock.Clock, secret []byte, name string, port int, interval time.Duration, join ...string) *member {
	t.Helper()
	transport, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{"127.0.0.1"}, BindPort: port, Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	lives++
	m := &member{table: table.New(limit.Replica(lives), clk, 100_000), wire: &cut{NetTransport: transport, blocked: map[string]bool{}, hang: map[string]chan struct{}{}}}
	m.node, err = Start(Config{
		Name: name, Life: fmt.Sprint(lives), Bind: fmt.Sprintf("127.0.0.1:%d", transport.GetAutoBindPort()), Join: join,
		Interval: interval, PushPull: time.Second, Secret: secret, Transport: m.wire, Log: io.Discard,
	}, limit.Replica(lives), m.table, clk)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func startGroup(t *testing.T, size int, interval time.Duration) []*member {
	t.Helper()
	first := startMember(t, "n0", 0, interval)
	group := []*member{first}
	for i := 1; i < size; i++ {
		group = append(group, startMember(t, fmt.Sprintf("n%d", i), 0, interval, first.node.Address()))
	}
	for _, m := range group {
		eventually(t, "every node sees all others", func() bool { return m.node.Live() == size })
	}
	return group
}

func stopAll(group []*member) {
	for _, m := range group {
		m.node.Stop()
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func setCut(group []*member, sides func(i int) bool, blocked bool) {
	for i, m := range group {
		for j, other := range group {
			if sides(i) != sides(j) {
				m.wire.mu.Lock()
				m.wire.blocked[other.node.Address()] = blocked
				m.wire.mu.Unlock()
			}
		}
	}
}

// windowMS is a window of an hour or more that began lately, so that none ends while a test runs.
var windowMS = func() int64 {
	window := int64(3_600_000)
	for time.Now().UnixMilli()%window > window/2 {
		window += 60_000
	}
	return window
}()

func ruleOf(algorithm limit.Algorithm, units int64) limit.Rule {
	rule, err := limit.NewRule(algorithm, units, windowMS, 0)
	if err != nil {
		panic(err)
	}
	return rule
}

func (m *member) take(t *testing.T, rule limit.Rule) bool {
	t.Helper()
	answer, err := m.table.Take([]byte("client"), rule, 1)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Allowed == 1
}

func (m *member) room(rule limit.Rule) int64 {
	return m.table.Peek([]byte("client"), rule, 1).Remaining
}

func everyAlgorithm(t *testing.T, units int64, check func(t *testing.T, rule limit.Rule)) {
	for name, algorithm := range limit.Names {
		t.Run(name, func(t *testing.T) { check(t, ruleOf(algorithm, units)) })
	}
}

func TestGrantsReachEveryNode(t *testing.T) {
	group := startGroup(t, 3, 5*time.Millisecond)
	defer stopAll(group)
	everyAlgorithm(t, 90, func(t *testing.T, rule limit.Rule) {
		for i := range 30 {
			if !group[i%3].take(t, rule) {
				t.Fatalf("request %d was rejected", i)
			}
		}
		for i, m := range group {
			eventually(t, fmt.Sprintf("node %d knows of 30 of 90", i), func() bool { return m.room(rule) == 60 })
		}
	})
}

func TestNodesWhoseClocksDifferShareALimitAndSayHowFarTheyAreApart(t *testing.T) {
	const ahead = 5 * time.Second
	source := clock.Machine()
	first := startMember(t, "n0", 0, 5*time.Millisecond)
	second := startWith(t, clock.New(func() (int64, int64) {
		wall, monotonic := source()
		return wall + int64(ahead), monotonic
	}), nil, "n1", 0, 5*time.Millisecond, first.node.Address())
	group := []*member{first, second}
	defer stopAll(group)
	everyAlgorithm(t, 30, func(t *testing.T, rule limit.Rule) {
		for i := range 20 {
			if !group[i%2].take(t, rule) {
				t.Fatalf("request %d was rejected", i)
			}
		}
		for i, m := range group {
			eventually(t, fmt.Sprintf("node %d knows of 20 of 30", i), func() bool { return m.room(rule) == 10 })
		}
	})
	for i, m := range group {
		if skew := time.Duration(m.node.Skew()); skew < ahead-time.Second || skew > ahead+time.Second {
			t.Errorf("node %d says that the clocks are %s apart", i, skew)
		}
	}
}

func TestAPartitionAdmitsAtMostOneLimitASideAndBothSidesAgreeAfterHealing(t *testing.T) {
	group := startGroup(t, 4, 5*time.Millisecond)
	defer stopAll(group)
	left := func(i int) bool { return i < 2 }
	setCut(group, left, true)
	admitted := map[limit.Algorithm]int{}
	for name, algorithm := range limit.Names {
		rule := ruleOf(algorithm, 40)
		for _, side := range [][]*member{group[:2], group[2:]} {
			for range 45 {
				if side[0].take(t, rule) {
					admitted[algorithm]++
				}
			}
			eventually(t, name+": the neighbour knows that nothing is left", func() bool { return side[1].room(rule) == 0 })
		}
		if admitted[algorithm] != 80 {
			t.Errorf("%s: two halves admitted %d on a limit of 40", name, admitted[algorithm])
		}
	}
	eventually(t, "the halves have given each other up", func() bool { return group[0].node.Live() == 2 && group[3].node.Live() == 2 })
	setCut(group, left, false)
	eventually(t, "the halves have found each other", func() bool { return group[0].node.Live() == 4 && group[3].node.Live() == 4 })
	everyAlgorithm(t, 40, func(t *testing.T, rule limit.Rule) {
		key := table.KeyOf([]byte("client"), rule)
		for _, m := range group {
			eventually(t, "a node holds both sides' grants", func() bool { return granted(m.table, key, rule) == 80 })
			if m.room(rule) != 0 {
				t.Errorf("%d units left after healing", m.room(rule))
			}
		}
	})
}

// granted is what all replicas together have counted, in units, as one node holds it.
func granted(held *table.Table, key wire.Key, rule limit.Rule) (units int64) {
	for part := range table.Shards {
		held.Shard(part, func(item wire.Item) {
			if item.Key == key {
				units = unitsOf(item.Cells, rule)
			}
		})
	}
	return units
}

func unitsOf(cells limit.Cells, rule limit.Rule) (units int64) {
	for _, ring := range cells.Rings {
		for _, slot := range ring.Slots {
			units += slot.Granted
		}
	}
	for _, cell := range cells.Buckets {
		units += cell.Granted * rule.Limit / rule.Window
	}
	for _, entry := range cells.Entries {
		units += entry.Units
	}
	return units
}

func TestANodeThatRestartsRegainsWhatItHadGranted(t *testing.T) {
	group := startGroup(t, 2, 5*time.Millisecond)
	for _, algorithm := range limit.Names {
		for range 20 {
			group[0].take(t, ruleOf(algorithm, 30))
		}
	}
	everyAlgorithm(t, 30, func(t *testing.T, rule limit.Rule) {
		eventually(t, "the other node knows", func() bool { return group[1].room(rule) == 10 })
	})
	address := group[0].node.Address()
	group[0].node.Abort()
	_, port, _ := strings.Cut(address, ":")
	var number int
	if _, err := fmt.Sscan(port, &number); err != nil {
		t.Fatal(err)
	}
	group[0] = startMember(t, "n0", number, 5*time.Millisecond, group[1].node.Address())
	defer stopAll(group)
	everyAlgorithm(t, 30, func(t *testing.T, rule limit.Rule) { // at once: the join is over before Start returns
		if room := group[0].room(rule); room != 10 {
			t.Errorf("%d of 30 left after the restart, 10 before", room)
		}
	})
}

func TestANodeThatRestartsHasAllThatItsPeersHoldBeforeItDecides(t *testing.T) {
	size := joinSize
	joinSize = 4 << 10
	defer func() { joinSize = size }()
	const keys = 5_000 // some 200 KB: many exchanges
	group := startGroup(t, 2, 5*time.Millisecond)
	rule := ruleOf(limit.FixedWindow, 10)
	for i := range keys {
		if _, err := group[0].table.Take(fmt.Append(nil, "client", i), rule, 1); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the other node has every key", func() bool { return group[1].table.Keys() == keys })
	address := group[0].node.Address()
	group[0].node.Abort()
	hang := make(chan struct{})
	group[1].wire.mu.Lock()
	group[1].wire.hang[address] = hang // nothing but the exchanges that the new node asks for
	group[1].wire.mu.Unlock()
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	fresh := startMember(t, "n2", 0, time.Hour) // which holds nothing yet
	group[0] = startMember(t, "n0", tcp.Port, 5*time.Millisecond, address, fresh.node.Address(), group[1].node.Address())
	group = append(group, fresh)
	defer stopAll(group)
	defer close(hang)
	if held := group[0].table.Keys(); held != keys {
		t.Errorf("decides with %d of %d keys", held, keys)
	}
}

func TestANodeThatIsToldOfItselfAloneAsksOnceAndDecides(t *testing.T) {
	first := startMember(t, "n0", 0, 5*time.Millisecond)
	address := first.node.Address()
	stopAll([]*member{first})
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	alone := startMember(t, "n0", tcp.Port, time.Hour, address)
	alone.wire.mu.Lock()
	dials := alone.wire.dials
	alone.wire.mu.Unlock()
	stopAll([]*member{alone})
	if dials != 1 {
		t.Errorf("dialled %d times before it decided", dials)
	}
}

func TestWhatIsOverAdmittedIsNotAdmittedAgain(t *testing.T) {
	const nodes, units = 4, 100
	group := startGroup(t, nodes, 20*time.Millisecond)
	defer stopAll(group)
	everyAlgorithm(t, units, func(t *testing.T, rule limit.Rule) {
		admitted := 0
		for i := range nodes * units {
			if group[i%nodes].take(t, rule) {
				admitted++
			}
		}
		if admitted < units || admitted > nodes*units {
			t.Errorf("admitted %d of a limit of %d with %d nodes", admitted, units, nodes)
		}
		for i, m := range group {
			eventually(t, "nothing is left anywhere", func() bool { return m.room(rule) == 0 })
			if m.take(t, rule) {
				t.Errorf("node %d admitted more", i)
			}
		}
	})
}

func TestALateJoinerGetsMoreThanFitsIntoOnePacket(t *testing.T) {
	group := startGroup(t, 2, 5*time.Millisecond)
	rule := ruleOf(limit.FixedWindow, 10)
	for i := range 20_000 {
		if _, err := group[0].table.Take(fmt.Append(nil, "client", i), rule, 1); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the other node has every key", func() bool { return group[1].table.Keys() == 20_000 })
	group = append(group, startMember(t, "n2", 0, 5*time.Millisecond, group[1].node.Address()))
	defer stopAll(group)
	eventually(t, "the late joiner has every key", func() bool { return group[2].table.Keys() == 20_000 })
}

func TestAPeerThatHangsDoesNotHoldUpTheOthers(t *testing.T) {
	group := startGroup(t, 3, 5*time.Millisecond)
	defer stopAll(group)
	hang := make(chan struct{})
	defer close(hang)
	group[0].wire.mu.Lock()
	group[0].wire.hang[group[1].node.Address()] = hang
	group[0].wire.mu.Unlock()
	rule := ruleOf(limit.FixedWindow, 10)
	for round := range 3 { // each much enough for a stream
		for i := range 5_000 {
			if _, err := group[0].table.Take(fmt.Append(nil, "client", i, " of ", round), rule, 1); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the third node has every key", func() bool { return group[2].table.Keys() == int64(5_000*(round+1)) })
	}
}

func TestGarbageFromTheNetworkIsCountedAndIgnored(t *testing.T) {
	group := startGroup(t, 1, 5*time.Millisecond)
	defer stopAll(group)
	for _, message := range [][]byte{nil, []byte("x"), []byte("PBS\x01"), []byte("PBS\x02aaaaaaaaaaaaaaaaaaaa"), make([]byte, 5000)} {
		group[0].node.NotifyMsg(message)
	}
	if bad := group[0].node.Counters.BadMessages.Load(); bad != 5 {
		t.Errorf("%d bad messages counted of 5", bad)
	}
}

func TestBytesSentAreThoseOfTheMessagesAndOfNoneThatFailed(t *testing.T) {
	node := &Node{log: log.New(io.Discard, "", 0)}
	send := func(_ *memberlist.Node, message []byte) error {
		if len(message) > 1000 {
			return errCut
		}
		return nil
	}
	node.deliver(&memberlist.Node{Name: "peer"}, [][]byte{make([]byte, 300), make([]byte, 500), make([]byte, 2000)}, send)
	if bytes, messages := node.Counters.BytesSent.Load(), node.Counters.MessagesSent.Load(); bytes != 800 || messages != 2 {
		t.Errorf("%d bytes in %d messages, of 800 in 2", bytes, messages)
	}
}

func TestWhatAJoinerIsToldGoesByStreamsWhichHaveRoomForIt(t *testing.T) {
	group := startGroup(t, 2, time.Hour)
	defer stopAll(group)
	for i := range 200 {
		if _, err := group[0].table.Take(fmt.Append(nil, "client", i), ruleOf(limit.FixedWindow, 10), 1); err != nil {
			t.Fatal(err)
		}
	}
	dials := func() int64 {
		group[0].wire.mu.Lock()
		defer group[0].wire.mu.Unlock()
		return int64(group[0].wire.dials)
	}
	dialled, sent := dials(), group[0].node.Counters.MessagesSent.Load()
	group[0].node.stream(group[0].node.peers()[0])
	if messages, streams := group[0].node.Counters.MessagesSent.Load()-sent, dials()-dialled; messages < 10 || streams < messages {
		t.Errorf("%d messages went by %d streams", messages, streams)
	}
}
