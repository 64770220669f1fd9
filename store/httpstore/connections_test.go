// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/store"
)

// tlsServer is a server that speaks HTTP/1.1 and HTTP/2, and counts connections.
func tlsServer(tb testing.TB, h http.Handler, wrap func(net.Listener) net.Listener) (*httptest.Server, *atomic.Int64) {
	tb.Helper()
	connections := new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2, s.Listener = true, wrap(s.Listener)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.StartTLS()
	tb.Cleanup(s.Close)
	return s, connections
}

// openTLS opens the store of a server whose certificate the store's own transport trusts.
func openTLS(tb testing.TB, s *httptest.Server) *web {
	tb.Helper()
	remote, err := OpenStore(s.URL, nil)
	if err != nil {
		tb.Fatal(err)
	}
	remote.transport.(*http.Transport).TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	remote.transport.(*http.Transport).TLSClientConfig.NextProtos = nil
	tb.Cleanup(func() { remote.Close() })
	return remote
}

// TestConnections checks that each request in flight has its own connection, even if the
// server supports HTTP/2, and that connections are used again. The server answers a round
// of requests when all of them have arrived.
func TestConnections(t *testing.T) {
	const flying = 100 // more than any number that somebody might build in
	var came sync.WaitGroup
	s, connections := tlsServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("a request by %s", r.Proto)
		}
		came.Done()
		came.Wait()
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "value")
	}), plainly)
	remote := openTLS(t, s)
	for range 3 {
		came.Add(flying)
		var all sync.WaitGroup
		for i := range flying {
			all.Go(func() {
				if _, _, err := remote.Get(t.Context(), store.MustKey(fmt.Sprint(i)), store.Request{}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := connections.Load(); n != flying {
			t.Fatalf("%d connections for %d requests in flight", n, flying)
		}
	}
}

func plainly(l net.Listener) net.Listener { return l }

// limited limits the bytes per second of each connection.
type limited struct {
	net.Listener
	rate float64
}

func (l limited) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &limitedConn{Conn: c, rate: l.rate}, err
}

type limitedConn struct {
	net.Conn
	rate  float64
	mutex sync.Mutex
	free  time.Time
}

func (c *limitedConn) Write(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if now := time.Now(); c.free.Before(now) {
		c.free = now
	}
	c.free = c.free.Add(time.Duration(float64(len(p)) / c.rate * 1e9))
	time.Sleep(time.Until(c.free))
	return c.Conn.Write(p)
}

// BenchmarkConnections reads 64 chunks of 1 MiB, 32 at a time, from a server with 20 MB/s
// for each connection: by the store's own transport, and by one that speaks HTTP/2.
func BenchmarkConnections(b *testing.B) {
	const chunks, size, flying = 64, 1 << 20, 32
	value := make([]byte, size)
	s, connections := tlsServer(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		_, _ = w.Write(value)
	}), func(l net.Listener) net.Listener { return limited{l, 20e6} })
	for _, http2 := range []bool{false, true} {
		b.Run(fmt.Sprintf("HTTP2=%v", http2), func(b *testing.B) {
			remote := openTLS(b, s)
			if http2 {
				remote.transport = s.Client().Transport
			}
			connections.Store(0)
			b.SetBytes(chunks * size)
			for b.Loop() {
				var all sync.WaitGroup
				var next atomic.Int64
				for range flying {
					all.Go(func() {
						for i := next.Add(1); i <= chunks; i = next.Add(1) {
							if _, _, err := remote.Get(b.Context(), store.MustKey(fmt.Sprint(i)), store.Request{}, nil); err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
			}
			b.ReportMetric(float64(connections.Load()), "connections")
		})
	}
}
