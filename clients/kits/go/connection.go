package kit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// past is a deadline that has passed: it ends whatever reads or writes.
var past = time.Unix(1, 0)

// connection is the one of a user: kept alive, without retries, redirects or cookies of its own.
//
// It writes and reads with net/http's own types, but without its Transport, which would send a request again when a
// connection that was kept alive breaks. It belongs to the goroutine of its user.
type connection struct {
	address string
	tls     *tls.Config // nil for http
	request *http.Request
	wire    []byte // the request as it is sent, every time
	timeout time.Duration
	dialer  net.Dialer
	conn    net.Conn
	reader  *bufio.Reader
}

// connectionTo prepares a round's request; it connects with the first attempt.
func connectionTo(round Round, userAgent string) (*connection, error) {
	target, err := url.Parse(strings.TrimSuffix(round.Target, "/") + round.Request.Path)
	if err != nil {
		return nil, err
	}
	c := &connection{address: addressOf(target), timeout: Micros(round.Request.TimeoutUs), reader: bufio.NewReader(nil)}
	if target.Scheme == "https" {
		c.tls = &tls.Config{ServerName: target.Hostname(), NextProtos: []string{"http/1.1"}}
	}
	if c.request, err = requestOf(round.Request, target, userAgent); err != nil {
		return nil, err
	}
	var wire bytes.Buffer
	if err := c.request.Write(&wire); err != nil {
		return nil, err
	}
	c.wire = wire.Bytes()
	return c, nil
}

func addressOf(target *url.URL) string {
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	return net.JoinHostPort(target.Hostname(), port)
}

func requestOf(asked Request, target *url.URL, userAgent string) (*http.Request, error) {
	var body io.Reader
	if asked.Body != nil {
		body = strings.NewReader(*asked.Body)
	}
	request, err := http.NewRequest(asked.Method, target.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", userAgent)
	for name, value := range asked.Headers {
		request.Header.Set(name, value)
	}
	return request, nil
}

// send makes one attempt: its outcome once the last byte has been read, or when it failed.
//
// An attempt whose context ends is a timeout: a policy around it has ended it.
func (c *connection) send(ctx context.Context) Outcome {
	deadline := time.Now().Add(c.timeout)
	if err := c.connect(ctx, deadline); err != nil {
		return failure(ctx, err)
	}
	conn := c.conn
	forget := context.AfterFunc(ctx, func() { conn.SetDeadline(past) })
	outcome, keep, err := c.exchange()
	if err != nil {
		outcome = failure(ctx, err)
	}
	// What can no longer be stopped might still move the deadline of the next attempt.
	if stopped := forget(); !stopped || !keep {
		c.close()
	}
	return outcome
}

// failure is the outcome of an attempt that ended with an error.
func failure(ctx context.Context, err error) Outcome {
	var slow net.Error
	if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() {
		return Timeout
	}
	return ConnectionError
}

// connect opens the connection where there is none, or none that the other side has left open.
func (c *connection) connect(ctx context.Context, deadline time.Time) error {
	if c.conn != nil {
		// First of all, since nothing can be asked of a connection whose deadline has passed.
		c.conn.SetDeadline(deadline)
		if leftOpen(c.conn) {
			return nil
		}
		c.close()
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	conn.SetDeadline(deadline)
	c.conn = conn
	c.reader.Reset(conn)
	return nil
}

func (c *connection) dial(ctx context.Context) (net.Conn, error) {
	if c.tls == nil {
		return c.dialer.DialContext(ctx, "tcp", c.address)
	}
	secure := tls.Dialer{NetDialer: &c.dialer, Config: c.tls}
	return secure.DialContext(ctx, "tcp", c.address)
}

// exchange sends the request and reads the answer to its end, and says whether the connection may be kept.
func (c *connection) exchange() (Outcome, bool, error) {
	if _, err := c.conn.Write(c.wire); err != nil {
		return ConnectionError, false, err
	}
	answer, err := c.finalAnswer()
	if err != nil {
		return ConnectionError, false, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return ConnectionError, false, err
	}
	return ofStatus(answer.StatusCode), !answer.Close && c.reader.Buffered() == 0, nil
}

// finalAnswer reads past what a server says before it answers, as 103.
func (c *connection) finalAnswer() (*http.Response, error) {
	for {
		answer, err := http.ReadResponse(c.reader, c.request)
		if err != nil || !isInterim(answer.StatusCode) {
			return answer, err
		}
	}
}

func isInterim(status int) bool {
	return http.StatusContinue <= status && status < http.StatusOK && status != http.StatusSwitchingProtocols
}

// close ends the connection; the next attempt opens another.
func (c *connection) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
