package kit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Outcomes of a scripted target besides statuses: it closes the connection, or never answers.
const (
	closes = 0
	hangs  = -1
)

// target answers requests by a script, of which the last entry continues for ever.
type target struct {
	url         string
	mu          sync.Mutex
	script      []int
	requests    int
	connections int
}

func targetOf(t *testing.T, script ...int) *target {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	target := &target{url: "http://" + listener.Addr().String(), script: script}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go target.serve(conn)
		}
	}()
	return target
}

func (s *target) serve(conn net.Conn) {
	defer conn.Close()
	s.mu.Lock()
	s.connections++
	s.mu.Unlock()
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		io.Copy(io.Discard, request.Body)
		switch status := s.next(); status {
		case closes:
			return
		case hangs:
			io.Copy(io.Discard, reader)
			return
		default:
			fmt.Fprintf(conn, "HTTP/1.1 %d Scripted\r\nContent-Length: 2\r\n\r\nok", status)
		}
	}
}

func (s *target) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.script[min(s.requests, len(s.script)-1)]
	s.requests++
	return status
}

func (s *target) seen() (requests, connections int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.connections
}

func clientOf(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer((&contractServer{adapter: plain{}}).handler())
	t.Cleanup(server.Close)
	return server.URL
}

// round is the body of a round at a target, with fields changed.
func round(at *target, strategy string, changes map[string]any) []byte {
	var fields map[string]any
	if err := json.Unmarshal([]byte(roundOf(strategy)), &fields); err != nil {
		panic(err)
	}
	fields["target"] = at.url
	for name, value := range changes {
		fields[name] = value
	}
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return body
}

func post(t *testing.T, url string, body []byte) (int, string) {
	t.Helper()
	answer, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// rowsOf runs a round: each row as "call.attempt outcome".
func rowsOf(t *testing.T, client string, body []byte) []string {
	t.Helper()
	status, text := post(t, client+"/rounds", body)
	if status != http.StatusOK || !strings.Contains(text, `{"end":`) {
		t.Fatalf("status %d: %s", status, text)
	}
	rows := []string{}
	for _, one := range linesOf(t, []byte(text)) {
		for i, outcome := range one.Batch["outcome"] {
			rows = append(rows, fmt.Sprintf("%v.%v %v", one.Batch["call"][i], one.Batch["attempt"][i], outcome))
		}
	}
	return rows
}

func TestARetryMakesExactlyTheAttemptsOfItsScript(t *testing.T) {
	at := targetOf(t, 503, 404, 200, 503, 503, 503, 200)
	rows := rowsOf(t, clientOf(t), round(at, `{"retry": `+fixed+`}`, map[string]any{"successes": 2}))
	expectEqual(t, rows, []string{"0.1 503", "0.2 404", "0.3 200", "1.1 503", "1.2 503", "1.3 503", "2.1 200"})
	if requests, connections := at.seen(); requests != 7 || connections != 1 {
		t.Errorf("%d requests over %d connections, want 7 over 1", requests, connections)
	}
}

func TestAConnectionThatIsClosedUnansweredIsOneAttempt(t *testing.T) {
	at := targetOf(t, closes, 200, closes, 302)
	rows := rowsOf(t, clientOf(t), round(at, `{"baseline": {}}`, map[string]any{"successes": 2}))
	expectEqual(t, rows, []string{"0.1 connection_error", "1.1 200", "2.1 connection_error", "3.1 302"})
	if requests, _ := at.seen(); requests != 4 {
		t.Errorf("%d requests, want 4", requests)
	}
}

func TestAServerThatClosesAnIdleConnectionCausesNoFailure(t *testing.T) {
	at := targetOf(t, 200)
	connection, err := connectionTo(readRound(t, round(at, `{"baseline": {}}`, nil)), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer connection.close()
	expectEqual(t, connection.send(context.Background()), Outcome(200))
	if !leftOpen(connection.conn) {
		t.Fatal("a connection that was kept alive is taken for closed")
	}
	connection.conn.(*net.TCPConn).CloseRead() // as if the other side had ended it
	expectEqual(t, connection.send(context.Background()), Outcome(200))
	if requests, connections := at.seen(); requests != 2 || connections != 2 {
		t.Errorf("%d requests over %d connections, want 2 over 2", requests, connections)
	}
}

func readRound(t *testing.T, body []byte) Round {
	t.Helper()
	round, problems := read(body, plain{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return round
}

func TestAnAttemptWithoutAnAnswerIsATimeoutAndTheNextGoesOn(t *testing.T) {
	at := targetOf(t, hangs, hangs, 200)
	request := map[string]any{"method": "POST", "path": "/", "headers": map[string]string{}, "body": "x", "timeout_us": 20_000}
	rows := rowsOf(t, clientOf(t), round(at, `{"baseline": {}}`, map[string]any{"request": request}))
	expectEqual(t, rows, []string{"0.1 timeout", "1.1 timeout", "2.1 200"})
}

func TestAnAttemptThatAPolicyEndsIsATimeout(t *testing.T) {
	at := targetOf(t, hangs, 200)
	strategy := `{"stack": [{"retry": ` + fixed + `}, {"timeout": {"after_us": 20000}}]}`
	expectEqual(t, rowsOf(t, clientOf(t), round(at, strategy, nil)), []string{"0.1 timeout", "0.2 200"})
}

func TestARejectedCallCostsNoAttemptAndIsFollowedByItsPause(t *testing.T) {
	at := targetOf(t, 503)
	changes := map[string]any{"successes": nil, "rejected_pause_us": 20_000, "time_limit_us": 200_000}
	rows := rowsOf(t, clientOf(t), round(at, `{"circuit_breaker": `+breaker("client")+`}`, changes))
	expectEqual(t, rows[:3], []string{"0.1 503", "1.1 503", "2.0 rejected"})
	if len(rows) > 12 {
		t.Errorf("%d rows in 200 ms", len(rows))
	}
}

func breaker(scope string) string {
	return `{"failure_rate": 100, "slow_call": null, "window": {"calls": 2}, "minimum_calls": 2,
		"open_for_us": 20000, "half_open_calls": 1, "scope": "` + scope + `"}`
}

func TestAPolicyIsOneForAllUsersOrOneForEachAndNewInEveryRound(t *testing.T) {
	client := clientOf(t)
	for _, one := range []struct {
		scope    string
		attempts int
	}{{"user", 8}, {"client", 2}, {"client", 2}} {
		at := targetOf(t, 503)
		changes := map[string]any{"users": 4, "successes": nil, "time_limit_us": 100_000}
		rowsOf(t, client, round(at, `{"circuit_breaker": `+breaker(one.scope)+`}`, changes))
		if requests, _ := at.seen(); requests != one.attempts {
			t.Errorf("scope %s: %d attempts, want %d", one.scope, requests, one.attempts)
		}
	}
}

func TestACallThatWasRejectedAfterAnAttemptEndsWithThatAttempt(t *testing.T) {
	strategy := `{"stack": [{"retry": ` + fixed + `}, {"circuit_breaker": ` + breaker("client") + `}]}`
	changes := map[string]any{"successes": nil, "time_limit_us": 100_000}
	rows := rowsOf(t, clientOf(t), round(targetOf(t, 503), strategy, changes))
	expectEqual(t, rows[:3], []string{"0.1 503", "0.2 503", "1.0 rejected"})
}

func TestARoundThatNobodyListensToIsAbandonedAndTheNextOneRuns(t *testing.T) {
	client, at := clientOf(t), targetOf(t, hangs)
	ctx, cancel := context.WithCancel(t.Context())
	asked := map[string]any{"method": "GET", "path": "/", "headers": map[string]string{}, "body": nil, "timeout_us": 60_000_000}
	body := bytes.NewReader(round(at, `{"baseline": {}}`, map[string]any{"request": asked, "time_limit_us": 60_000_000}))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client+"/rounds", body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	second := round(targetOf(t, 200), `{"baseline": {}}`, nil)
	if status, _ := post(t, client+"/rounds", second); status != http.StatusConflict {
		t.Errorf("a second round at the same time: status %d, want 409", status)
	}
	cancel()
	status := http.StatusConflict
	for bound := time.Now().Add(10 * time.Second); status == http.StatusConflict && time.Now().Before(bound); {
		status, _ = post(t, client+"/rounds", second)
	}
	expectEqual(t, status, http.StatusOK)
}

func TestADefectOfAnAdapterEndsTheRoundWithAnError(t *testing.T) {
	server := httptest.NewServer((&contractServer{adapter: broken{}}).handler())
	defer server.Close()
	_, text := post(t, server.URL+"/rounds", round(targetOf(t, 200), `{"retry": `+fixed+`}`, nil))
	if !strings.HasSuffix(text, `{"error":"a user could not go on: panic: broken"}`+"\n") {
		t.Errorf("seen %s", text)
	}
}

// broken has a retry that cannot continue.
type broken struct{ plain }

func (broken) Guard(Policy) Guard {
	return func(context.Context, Call) (Outcome, error) { panic("broken") }
}

func TestARoundThatIsNotUnderstoodIsAnsweredWith422(t *testing.T) {
	status, text := post(t, clientOf(t)+"/rounds", []byte(`{"users": 1}`))
	if status != http.StatusUnprocessableEntity || !strings.Contains(text, `"path":"contract"`) {
		t.Errorf("status %d: %s", status, text)
	}
}

func TestARoundWithoutProblemsIsAnsweredWithAnEmptyList(t *testing.T) {
	_, text := post(t, clientOf(t)+"/check", []byte(roundOf(`{"baseline": {}}`)))
	expectEqual(t, text, `{"problems":[]}`+"\n")
}

func TestAnUnknownPathSaysWhatThereIs(t *testing.T) {
	status, text := post(t, clientOf(t)+"/round", nil)
	if status != http.StatusNotFound || !strings.Contains(text, calls) {
		t.Errorf("status %d: %s", status, text)
	}
}

func TestAPortIsANumberUpTo65535(t *testing.T) {
	for _, words := range [][]string{{"--port", "70000"}, {"--port", "x"}, {"--prot", "0"}, {"--port"}} {
		if _, err := portOf(words); err == nil || !strings.Contains(err.Error(), "allowed: --port PORT") {
			t.Errorf("%v: %v", words, err)
		}
	}
	if port, err := portOf([]string{"--port", "9000"}); port != 9000 || err != nil {
		t.Errorf("port %d: %v", port, err)
	}
}
