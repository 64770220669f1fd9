// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// client is a connection to a server that is kept. It does as little as can be: the
// machine has to do both sides.
type client struct {
	conn   net.Conn
	read   *bufio.Reader
	buffer []byte
}

func dial(address string) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, read: bufio.NewReaderSize(conn, 4<<10), buffer: make([]byte, 256<<10)}, nil
}

// get asks for a path, and returns the length of the body.
func (c *client) get(path string) (int64, error) {
	if _, err := fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return 0, err
	}
	status, n := "", int64(-1)
	for first := true; ; first = false {
		line, err := c.read.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		if first {
			status = string(line)
		} else if len(line) == 0 {
			break
		} else if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			if n, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return 0, err
			}
		}
	}
	if status == "HTTP/1.1 200 OK" && n < 0 { // in pieces
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, httputil.NewChunkedReader(c.read), c.buffer)
		if err == nil {
			_, err = c.read.Discard(2) // the end of the trailer
		}
		return n, err
	}
	if status != "HTTP/1.1 200 OK" {
		return 0, fmt.Errorf("%s: %s, %d bytes", path, status, n)
	}
	for left := n; left > 0; {
		// What the buffer does not have comes past it.
		from := io.Reader(c.conn)
		if c.read.Buffered() > 0 {
			from = c.read
		}
		k, err := from.Read(c.buffer[:min(left, int64(len(c.buffer)))])
		if left -= int64(k); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// all asks for paths by some connections, each for the next one that nobody has asked
// for. It returns the seconds that takes, the bytes, and the seconds of each request.
func all(ctx context.Context, address string, connections int, paths []string) (seconds float64, size int64, each []float64, err error) {
	clients := make([]*client, connections)
	for i := range clients {
		if clients[i], err = dial(address); err != nil {
			return 0, 0, nil, err
		}
		defer clients[i].conn.Close()
	}
	var next, bytes atomic.Int64
	var g sync.WaitGroup
	errs := make([]error, connections)
	each = make([]float64, len(paths))
	begun := time.Now()
	for i, c := range clients {
		g.Go(func() {
			for ctx.Err() == nil {
				k := next.Add(1) - 1
				if k >= int64(len(paths)) {
					return
				}
				asked := time.Now()
				n, err := c.get(paths[k])
				if err != nil {
					errs[i] = err
					return
				}
				each[k] = time.Since(asked).Seconds()
				bytes.Add(n)
			}
		})
	}
	g.Wait()
	return time.Since(begun).Seconds(), bytes.Load(), each, errors.Join(append(errs, ctx.Err())...)
}
