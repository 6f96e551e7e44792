package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"patternbench.dev/crdt-sidecar/internal/limit"
)

func run(t *testing.T, arguments ...string) *sidecar {
	t.Helper()
	s, err := parseSettings(append([]string{"-name", "a", "-listen", "127.0.0.1:0", "-gossip", "127.0.0.1:0"}, arguments...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c, err := start(*s, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

// window is one of an hour or more, in milliseconds, that began lately, so that none ends while a test runs.
var window = func() string {
	length := int64(3_600_000)
	for time.Now().UnixMilli()%length > length/2 {
		length += 60_000
	}
	return strconv.FormatInt(length, 10)
}()

type client struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
}

func dial(t *testing.T, c *sidecar) *client {
	t.Helper()
	conn, err := net.Dial(c.listener.Addr().Network(), c.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &client{t, conn, bufio.NewReader(conn)}
}

func encode(arguments ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", len(arguments))
	for _, argument := range arguments {
		fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(argument), argument)
	}
	return text.String()
}

// ask sends a request and gives its answer on one line, the parts of an array separated by spaces.
func (c *client) ask(arguments ...string) string {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, encode(arguments...)); err != nil {
		c.t.Fatal(err)
	}
	return c.read()
}

func (c *client) read() string {
	c.t.Helper()
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return "closed"
	}
	line = strings.TrimSuffix(line, "\r\n")
	var count int
	switch line[0] {
	case '*':
		_, _ = fmt.Sscan(line[1:], &count)
		parts := make([]string, count)
		for i := range parts {
			parts[i] = c.read()
		}
		return strings.Join(parts, " ")
	case '$':
		_, _ = fmt.Sscan(line[1:], &count)
		bulk := make([]byte, count+2)
		_, _ = io.ReadFull(c.reader, bulk)
		return string(bulk[:count])
	case ':':
		return line[1:]
	}
	return line
}

func TestTheVerbsDoWhatTheContractSays(t *testing.T) {
	c := dial(t, run(t))
	rule := []string{"100", window}
	limiting := func(verb, algorithm string, more ...string) string {
		answer := c.ask(append(append([]string{verb, "k", algorithm}, rule...), more...)...)
		return strings.Join(strings.Fields(answer)[:2], " ") // allowed and remaining; the rest depends on the time
	}
	for algorithm := range limit.Names {
		steps := [][2]string{
			{limiting("PB.PEEK", algorithm, "1"), "1 100"},
			{limiting("PB.TAKE", algorithm, "30"), "1 70"},
			{limiting("PB.TAKE", algorithm, "71", "0"), "0 70"},
			{limiting("PB.LEASE", algorithm, "50"), "50 20"},
			{limiting("PB.GIVE", algorithm, "10", "0", "0"), "10 30"},
			{limiting("PB.REPORT", algorithm, "30"), "1 0"},
			{limiting("PB.LEASE", algorithm, "5"), "0 0"},
			{limiting("PB.REPORT", algorithm, "5"), "0 0"},
		}
		for i, step := range steps {
			if step[0] != step[1] {
				t.Errorf("%s, step %d: %s, expected %s", algorithm, i, step[0], step[1])
			}
		}
	}
	if answer := c.ask("PB.TAKE", "k", "gcra", "10", "1000", "11"); answer != "0 10 0 -1 0" {
		t.Errorf("a cost that never fits: %s", answer)
	}
	if answer := c.ask("pb.nodes"); answer != "a" {
		t.Errorf("nodes: %s", answer)
	}
}

func TestARedisClientIsWelcomed(t *testing.T) {
	c := dial(t, run(t))
	for _, pair := range [][2]string{
		{c.ask("PING"), "+PONG"}, {c.ask("ping", "x"), "x"}, {c.ask("ECHO", "y"), "y"}, {c.ask("SELECT", "0"), "+OK"},
		{c.ask("CLIENT", "SETNAME", "lb"), "+OK"}, {c.ask("COMMAND", "DOCS"), ""}, {c.ask("QUIT"), "+OK"}, {c.read(), "closed"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%q, expected %q", pair[0], pair[1])
		}
	}
}

func TestStatsCountWhatHappened(t *testing.T) {
	c := dial(t, run(t, "-max-keys", "2"))
	for _, key := range []string{"k", "k", "l", "m"} {
		c.ask("PB.TAKE", key, "fixed_window", "1", window, "1")
	}
	info := c.ask("INFO")
	for _, line := range []string{"keys:2", "max_keys:2", "taken:2", "rejected:1", "refused_keys:1", "name:a", "nodes:1", "interval_us:10000"} {
		if !strings.Contains(info, line+"\r\n") {
			t.Errorf("INFO lacks %s:\n%s", line, info)
		}
	}
	if answer := c.ask("PB.TAKE", "n", "gcra", "1", "1000", "1"); !strings.HasPrefix(answer, "-FULL 2 keys") {
		t.Errorf("a new key when full: %s", answer)
	}
}

func TestBadArgumentsAreNamed(t *testing.T) {
	c := dial(t, run(t))
	for request, expected := range map[string]string{
		"NOPE":                                      `-ERR unknown verb "NOPE"; allowed: PB.TAKE,`,
		"PB.NOPE":                                   `-ERR unknown verb "PB.NOPE"; allowed: PB.TAKE,`,
		"PB.TAKE k":                                 "-ERR 1 arguments; write: PB.TAKE key algorithm limit window_ms cost [parameter]",
		"PB.GIVE k gcra 1 1 1":                      "-ERR 5 arguments; write: PB.GIVE key algorithm limit window_ms cost parameter age_ms",
		"PB.TAKE k leaky 1 1 1":                     `-ERR algorithm is "leaky"; allowed: fixed_window, gcra, leaky_bucket,`,
		"PB.TAKE k gcra x 1 1":                      `-ERR limit is "x"; a whole number is needed`,
		"PB.TAKE k gcra 1 0 1":                      "-ERR window_ms is 0; allowed: 1 to 86400000",
		"PB.TAKE k gcra 1 1 0":                      "-ERR cost is 0; allowed: 1 to 1000000000",
		"PB.TAKE k gcra 1 1 -5":                     "-ERR cost is -5; allowed: 1 to 1000000000",
		"PB.TAKE k gcra 1 1 99999999999":            "-ERR cost is 99999999999; allowed:",
		"PB.TAKE k gcra 1 1 9999999999999999999999": `-ERR cost is "9999999999999999999999"; a whole number is needed`,
		"PB.GIVE k gcra 1 1 1 0 -1":                 "-ERR age_ms is -1; allowed: 0 to 86400000",
		"SELECT 1":                                  "-ERR there is one database; write: SELECT 0",
	} {
		if answer := c.ask(strings.Fields(request)...); !strings.HasPrefix(answer, expected) {
			t.Errorf("%s: %s", request, answer)
		}
	}
	if answer := c.ask("PB.TAKE", "", "gcra", "1", "1", "1"); answer != "-ERR key is empty; allowed: 1 to 65536 bytes" {
		t.Error(answer)
	}
	if answer := c.ask("PB.TAKE", "k\r\n\x00\xff", "gcra\r\n+OK", "1", "1", "1"); strings.Count(answer, "algorithm is") != 1 || !strings.HasPrefix(c.ask("PING"), "+PONG") {
		t.Error("control characters broke the protocol:", answer)
	}
}

func TestWhatIsNotTheProtocolIsToldAndCutOff(t *testing.T) {
	sidecar := run(t)
	for sent, expected := range map[string]string{
		"GET / HTTP/1.1\r\n\r\n":     `-ERR protocol: "GET / HTTP/1.1" doesn't begin with`,
		"*1\r\n$10485760\r\n":        `-ERR protocol: a count of "10485760" after '$'; allowed: 0 to 65536`,
		"*17\r\n":                    `-ERR protocol: a count of "17" after '*'; allowed: 1 to 16`,
		"*1\r\n$-1\r\n":              `-ERR protocol: a count of "-1"`,
		"*1\r\n$2\r\nabcd":           "-ERR protocol: a bulk string does not end where its length says",
		strings.Repeat("x", 100_000): "-ERR protocol: a line of more than 32 bytes",
		"*1\r\n\x00\x01\r\n":         "-ERR protocol:",
	} {
		c := dial(t, sidecar)
		_, _ = io.WriteString(c.conn, sent)
		if answer := c.read(); !strings.HasPrefix(answer, expected) {
			t.Errorf("%.20q: %s", sent, answer)
		}
		if answer := c.read(); answer != "closed" {
			t.Errorf("%.20q: not closed: %s", sent, answer)
		}
	}
}

func TestASidecarThatFetchesItsStateSaysSoAtOnceInsteadOfSayingNothing(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a peer that takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s.sock")
	settings, err := parseSettings([]string{"-name", "a", "-listen", "unix:" + path, "-gossip", "127.0.0.1:0", "-join", silent.Addr().String()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan *sidecar)
	go func() {
		one, err := start(*settings, io.Discard)
		if err != nil {
			t.Error(err)
		}
		started <- one
	}()
	joining, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	early := &client{t, conn, bufio.NewReader(conn)}
	for _, request := range []string{"PING", "PB.TAKE k gcra 1 1000 1"} {
		if answer := early.ask(strings.Fields(request)...); !strings.HasPrefix(answer, "-LOADING") {
			t.Errorf("%s: %s", request, answer)
		}
	}
	_ = joining.Close()
	_ = silent.Close()
	one := <-started
	defer one.stop()
	if answer := early.ask("PING"); answer != "+PONG" {
		t.Error(answer)
	}
}

func TestAKeyOfTheLongestLengthWorks(t *testing.T) {
	c := dial(t, run(t))
	long := strings.Repeat("k", 65_536)
	c.ask("PB.TAKE", long, "fixed_window", "1", window, "1")
	if answer := c.ask("PB.TAKE", long, "fixed_window", "1", window, "1"); !strings.HasPrefix(answer, "0 0 ") {
		t.Error(answer)
	}
	if answer := c.ask("PB.TAKE", long[1:], "fixed_window", "1", window, "1"); !strings.HasPrefix(answer, "1 0 ") {
		t.Error(answer)
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	c := dial(t, run(t))
	var all bytes.Buffer
	for range 500 {
		all.WriteString(encode("PB.TAKE", "k", "sliding_window_log", "500", window, "1"))
	}
	_, _ = c.conn.Write(all.Bytes())
	for i := range 500 {
		if answer := c.read(); !strings.HasPrefix(answer, fmt.Sprintf("1 %d ", 499-i)) {
			t.Fatalf("answer %d: %s", i, answer)
		}
	}
}

func TestTooManyConnectionsAreToldSo(t *testing.T) {
	sidecar := run(t, "-max-connections", "2")
	for range 2 {
		dial(t, sidecar).ask("PING")
	}
	if answer := dial(t, sidecar).read(); answer != "-ERR too many connections; at most 2" {
		t.Error(answer)
	}
}

func TestConnectionsBeyondThoseWithThreadsAreAnsweredToo(t *testing.T) {
	sidecar := run(t)
	var clients []*client
	for range 300 { // more than have a thread of their own
		clients = append(clients, dial(t, sidecar))
	}
	for i, c := range clients {
		if answer := c.ask("PB.TAKE", "k", "fixed_window", "300", window, "1"); !strings.HasPrefix(answer, fmt.Sprintf("1 %d ", 299-i)) {
			t.Fatalf("connection %d: %s", i, answer)
		}
	}
}

func TestStoppingEndsConnectionsThatWait(t *testing.T) {
	sidecar := run(t)
	waiting := dial(t, sidecar)
	waiting.ask("PING")
	stopped := make(chan struct{})
	go func() { sidecar.server.Close(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Fatal("still waits for a client that says nothing")
	}
	if answer := waiting.read(); answer != "closed" {
		t.Error(answer)
	}
}

func TestAUnixSocketOfAKilledSidecarIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()
	sidecar := run(t, "-listen", "unix:"+path)
	if answer := dial(t, sidecar).ask("PING"); answer != "+PONG" {
		t.Error(answer)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Error(info.Mode(), err)
	}
	if _, err := listen("unix:"+path, 0o660); err == nil || !strings.Contains(err.Error(), "somebody already listens") {
		t.Error("a second sidecar took the socket of a living one:", err)
	}
}

func TestAllBadFlagsAreToldAtOnce(t *testing.T) {
	_, err := parseSettings([]string{
		"-name", "a@b", "-listen", "0.0.0.0:7380", "-gossip", "0.0.0.0:1", "-join", "nowhere", "-interval", "10us",
		"-push-pull", "1ms", "-max-keys", "0", "-max-connections", "0", "-secret-file", "/nonexistent", "rest",
	}, io.Discard)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, flag := range []string{"--name is", "--listen is", "--gossip is", "--join has", "--interval is", "--push-pull is", "--max-keys is",
		"--max-connections is", "--secret-file /nonexistent:", `"rest" is not a flag`} {
		if !strings.Contains(err.Error(), flag) {
			t.Errorf("nothing about %s in:\n%v", flag, err)
		}
	}
}

func TestGossipBeyondLoopbackNeedsASecret(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("MDEyMzQ1Njc4OWFiY2RlZg==\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for arguments, allowed := range map[string]bool{
		"-gossip 127.0.0.1:0":                             true,
		"-gossip [::1]:0":                                 true,
		"-gossip 10.0.0.5:7946":                           false,
		"-gossip [fe80::1]:7946":                          false,
		"-gossip 10.0.0.5:7946 -secret-file " + secret:    true,
		"-gossip 127.0.0.1:7946 -secret-file " + secret:   true,
		"-gossip 10.0.0.5:7946 -secret-file /nonexistent": false,
	} {
		_, err := parseSettings(strings.Fields("-name a "+arguments), io.Discard)
		if (err == nil) != allowed {
			t.Errorf("%s: %v", arguments, err)
		}
		if err != nil && !strings.Contains(arguments, "secret") && !strings.Contains(err.Error(), "without --secret-file") {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

func TestTwoSidecarsWithASecretShareALimit(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("MDEyMzQ1Njc4OWFiY2RlZg==\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := run(t, "-secret-file", secret)
	second := run(t, "-name", "b", "-secret-file", secret, "-join", first.node.Address())
	a, b := dial(t, first), dial(t, second)
	a.ask("PB.TAKE", "k", "fixed_window", "1", window, "1")
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if answer := b.ask("PB.PEEK", "k", "fixed_window", "1", window, "1"); strings.HasPrefix(answer, "0 0 ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("not shared within 10 s")
		}
	}
}

func TestASidecarWithoutTheSecretIsToldNothing(t *testing.T) {
	folder := t.TempDir()
	write := func(name, secret string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := write("secret", "MDEyMzQ1Njc4OWFiY2RlZg==\n")
	first := run(t, "-secret-file", secret)
	friend := run(t, "-name", "b", "-secret-file", secret, "-join", first.node.Address())
	strangers := []*sidecar{
		run(t, "-name", "c", "-join", first.node.Address()),
		run(t, "-name", "d", "-secret-file", write("other", "ZmVkY2JhOTg3NjU0MzIxMA==\n"), "-join", first.node.Address()),
	}
	a, b := dial(t, first), dial(t, friend)
	a.ask("PB.TAKE", "k", "fixed_window", "1", window, "1")
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if answer := b.ask("PB.PEEK", "k", "fixed_window", "1", window, "1"); strings.HasPrefix(answer, "0 0 ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("not shared with who has the secret within 10 s")
		}
	}
	for _, stranger := range strangers {
		if answer := dial(t, stranger).ask("PB.PEEK", "k", "fixed_window", "1", window, "1"); !strings.HasPrefix(answer, "1 ") {
			t.Error(stranger.settings.name, "got the answer", answer)
		}
		if names := stranger.node.Names(); len(names) != 1 {
			t.Error(stranger.settings.name, "joined:", names)
		}
	}
	if names := first.node.Names(); len(names) != 2 {
		t.Error("joined by:", names)
	}
}
