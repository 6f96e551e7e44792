package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	mostBodyBytes = 16 << 20
	// Twice within the contract's 200 ms, with room for a busy machine.
	batchEvery = 80 * time.Millisecond

	calls = "GET /client, POST /check, POST /rounds"
)

// contractServer is the contract's side of the client: one round at a time.
type contractServer struct {
	adapter Adapter
	busy    atomic.Bool
}

func (s *contractServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /client", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, s.adapter.Description().answer())
	})
	mux.HandleFunc("POST /check", func(w http.ResponseWriter, r *http.Request) {
		_, problems := s.asked(r)
		reply(w, http.StatusOK, problemsAnswer(problems))
	})
	mux.HandleFunc("POST /rounds", s.round)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		message := fmt.Sprintf("%s %s isn't one of %s", r.Method, r.URL.Path, calls)
		reply(w, http.StatusNotFound, errorAnswer(message))
	})
	return mux
}

func (s *contractServer) asked(r *http.Request) (Round, []Problem) {
	body, err := io.ReadAll(io.LimitReader(r.Body, mostBodyBytes))
	if err != nil {
		return Round{}, []Problem{newProblem("", nil, "cannot be read: "+err.Error(), "")}
	}
	return read(body, s.adapter)
}

func (s *contractServer) round(w http.ResponseWriter, r *http.Request) {
	round, problems := s.asked(r)
	switch {
	case len(problems) > 0:
		reply(w, http.StatusUnprocessableEntity, problemsAnswer(problems))
	case s.busy.CompareAndSwap(false, true):
		s.stream(r.Context(), w, round)
	default:
		reply(w, http.StatusConflict, errorAnswer("another round is running; wait for its end, or close it"))
	}
}

// stream runs a round. The last line goes out when the client is free again: who has read it may start a round.
func (s *contractServer) stream(ctx context.Context, w http.ResponseWriter, round Round) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	last := s.run(ctx, w, round)
	s.busy.Store(false)
	if ctx.Err() == nil {
		line, _ := json.Marshal(last) // of numbers and a string
		write(w, append(line, '\n'))
	}
}

// run streams a round's batches and returns its last line. The context ends when the other side has gone away, and
// the round with it.
func (s *contractServer) run(ctx context.Context, w http.ResponseWriter, round Round) any {
	running, err := begin(ctx, round, s.adapter)
	if err != nil {
		return errorAnswer(err.Error())
	}
	defer running.close()
	writeBatches(ctx, w, running)
	return lastLine(running)
}

// writeBatches writes what comes in until the round is over. Without rows there is an empty batch, which notices
// whether anyone still listens.
func writeBatches(ctx context.Context, w http.ResponseWriter, running *runningRound) {
	ticking := time.NewTicker(batchEvery)
	defer ticking.Stop()
	var text []byte
	for {
		select {
		case <-ctx.Done():
			return
		case <-running.ended:
			write(w, appendLines(text[:0], running.rows.take()))
			return
		case <-ticking.C:
		}
		text = appendLines(text[:0], running.rows.take())
		if write(w, text) != nil {
			return
		}
	}
}

func write(w http.ResponseWriter, text []byte) error {
	if _, err := w.Write(text); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

func lastLine(running *runningRound) any {
	running.mu.Lock()
	defer running.mu.Unlock()
	if running.defect != nil {
		return errorAnswer("a user could not go on: " + running.defect.Error())
	}
	end := map[string]int64{"rows": running.rows.taken, "duration_us": running.durationUs, "cpu_us": running.cpuUs}
	return map[string]any{"end": end}
}

func problemsAnswer(problems []Problem) any {
	if problems == nil {
		problems = []Problem{} // which is [] in JSON, where nil is null
	}
	return map[string]any{"problems": problems}
}

func errorAnswer(message string) any { return map[string]string{"error": message} }

func reply(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(answer)
}
