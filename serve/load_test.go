// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/memstore"
)

// Clients of a load: all keep their connections, some take little of an answer until the
// array has changed, and some go away within one.
const (
	loadClients   = 64
	loadSlow      = 8
	loadVanishing = 8
	loadRequests  = 10 // of each client
	loadBudget    = 16 << 20
)

// The array of a load: an element is the number of its row, times the columns, and of its
// column, and one more. So no element has the fill value, and each tells which row it is.
const (
	loadColumns = 1024
	loadRows    = 96 // at first
	loadAdded   = 24 // rows of each append
	loadDropped = 32 // rows at the beginning, at last
	pinnedRows  = 10 // of a chunk of the pinned views
	pinnedWidth = 300
)

// loadSlab returns the elements of rows.
func loadSlab(first, n int64) []int32 {
	list := make([]int32, n*loadColumns)
	for i := range list {
		list[i] = int32(first*loadColumns + int64(i) + 1)
	}
	return list
}

// load is a server under load, and what happens to its array.
type load struct {
	t      *testing.T
	server *httptest.Server
	array  *zarr.Array
	rows   atomic.Int64 // that each request from now on sees
	// The chunks of the grid at first, which stay under their keys.
	stored map[string][]byte

	answered chan struct{} // has an element for each answer to a client that is not slow
	changed  chan struct{} // closed after an append and a compaction
	dropping atomic.Bool   // rows at the beginning may be gone
	dropped  atomic.Bool   // they are
	ended    chan struct{} // closed then
	gone     atomic.Int64  // answers that say so
}

// TestSoakLoad has 64 clients while the array grows, is compacted and loses rows. None
// ever gets a value that is not its own, memory stays bounded, and nothing is left.
func TestSoakLoad(t *testing.T) {
	rounds := fixture.Soaked(t, 1, 100)
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // little of what is counted is garbage
	for name, open := range map[string]func() store.Store{
		"memory": func() store.Store { return memstore.New() },
		"files": func() store.Store {
			s, err := filestore.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			const most = loadBudget>>20 + 64
			for range rounds {
				used := fixture.LeastMiB(most, func() float64 {
					s := open()
					defer func() { _ = store.Close(s) }()
					l := newLoad(t, s)
					return fixture.HeapMiB(l.run)
				})
				if used > most && !t.Failed() {
					t.Errorf("the heap grew by %.0f MiB, want at most %d", used, most)
				}
				t.Logf("the heap grew by %.0f MiB", used)
			}
		})
	}
}

// newLoad starts a server of a new array.
func newLoad(t *testing.T, s store.Store) *load {
	l := &load{t: t, answered: make(chan struct{}, 1<<20), changed: make(chan struct{}), ended: make(chan struct{}), stored: map[string][]byte{}}
	l.array = array(t, s, "n", zarr.Spec{
		Shape: []int64{loadRows, loadColumns}, Type: dtype.Int32,
		Chunks: []grid.Cut{grid.Edges(16, 5, 40, 35), grid.Edges(700, 324)},
	}, loadSlab(0, loadRows))
	l.rows.Store(loadRows)
	for i := range 4 {
		for j := range 2 {
			key := fmt.Sprintf("c/%d/%d", i, j)
			data, _, err := s.Get(t.Context(), store.MustKey("n/"+key), store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			l.stored[key] = data
		}
	}
	l.server = httptest.NewUnstartedServer(handler(t, zarr.At(s, "n"), &serve.Options{Budget: loadBudget}))
	l.server.Listener = tight{l.server.Listener}
	l.server.Start()
	return l
}

// tight is a listener whose connections hold little of an answer, so that the server
// waits for clients that do not take it.
type tight struct{ net.Listener }

func (l tight) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if t, ok := c.(*net.TCPConn); ok {
		err = errors.Join(err, t.SetWriteBuffer(16<<10))
	}
	return c, err
}

// run has all clients send their requests, and changes the array meanwhile.
func (l *load) run() {
	var g sync.WaitGroup
	for i := range loadClients {
		c := &client{load: l, random: rand.New(rand.NewPCG(1, uint64(i)))}
		g.Go(func() {
			switch {
			case i < loadSlow:
				c.slow(i)
			case i < loadSlow+loadVanishing:
				c.vanishing()
			default:
				c.steady(i)
			}
		})
	}
	l.change()
	g.Wait()
	l.server.Close()
	if l.gone.Load() == 0 {
		l.t.Error("no view has ended")
	}
}

// change changes the array, between the answers to some requests.
func (l *load) change() {
	wait := func() { // for an eighth of the requests
		for range loadRequests * (loadClients - loadSlow - loadVanishing) / 8 {
			<-l.answered
		}
	}
	ctx := l.t.Context()
	check := func(err error) {
		if err != nil {
			l.t.Error(err)
		}
	}
	grow := func() {
		wait()
		was := l.rows.Load()
		check(zarr.Append(ctx, l.array, 0, loadSlab(was, loadAdded), nil))
		l.rows.Store(was + loadAdded)
	}
	grow()
	wait()
	_, err := rechunk.Do(ctx, l.array, rechunk.Compaction{Axis: 0, UpTo: 64}, nil)
	check(err)
	close(l.changed)
	grow()
	wait()
	l.dropping.Store(true)
	_, err = rechunk.Do(ctx, l.array, rechunk.Removal{Axis: 0, Range: grid.Interval{Stop: loadDropped}}, nil)
	check(err)
	l.dropped.Store(true)
	close(l.ended)
}

// client is one client.
type client struct {
	*load
	random *rand.Rand
	http   http.Client
	pinned string // the view of a client that knows its document
}

// steady sends requests one after the other, on connections that it keeps.
func (c *client) steady(i int) {
	t := &http.Transport{}
	defer t.CloseIdleConnections()
	c.http.Transport = t
	c.pinned = []string{"@regular,chunks=10x300,codec=none", "@v2,chunks=10x300,codec=none"}[i/4%2]
	ask := [...]func(context.Context) error{c.plain, c.regular, c.chunk, c.values}[i%4]
	for n := range loadRequests + 2 {
		if n == loadRequests {
			<-c.ended // some requests come after all changes
		}
		if !c.t.Failed() {
			if err := ask(c.t.Context()); err != nil {
				c.t.Errorf("client %d: %v", i, err)
			}
		}
		c.answered <- struct{}{}
	}
}

// get sends a request. It returns the body of an answer with status 200.
func (c *client) get(ctx context.Context, path string) (status int, body []byte, header http.Header, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server.URL+path, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	is, err := c.http.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer is.Body.Close()
	body, err = io.ReadAll(is.Body)
	if err == nil && is.StatusCode != http.StatusOK && is.StatusCode != http.StatusGone {
		err = fmt.Errorf("%s: status %d: %s", path, is.StatusCode, body)
	}
	return is.StatusCode, body, is.Header, err
}

// open opens the array at an address, on the connections of the client.
func (c *client) open(ctx context.Context, path string) (*zarr.Array, error) {
	s, err := httpstore.Open(c.server.URL+path, &httpstore.Options{Transport: c.http.Transport})
	if err != nil {
		return nil, err
	}
	return zarr.At(s, "").OpenArray(ctx, &zarr.Options{Budget: 1 << 20})
}

// read reads some rows of the array at an address, as a program that opens it anew.
func (c *client) read(ctx context.Context, path string, least int64) error {
	mayMiss, begun := c.dropping.Load(), c.dropped.Load()
	a, err := c.open(ctx, path)
	if err != nil {
		return err
	}
	n := a.Shape()[0]
	if !mayMiss && !c.dropping.Load() && n < least {
		return fmt.Errorf("%s has %d rows, want at least %d", path, n, least)
	}
	first := c.random.Int64N(min(n, loadRows) - loadDropped - 8)
	got, err := zarr.Read[int32](ctx, a, selection.Box{{first, first + 8}, {200, 900}})
	if err != nil {
		return err
	}
	return c.sees(path, got.Data, first, 200, 700, begun)
}

// sees compares rows. They may begin with the first row that is left, if rows were
// dropped during the request, and must if they were dropped before it.
func (c *client) sees(path string, got []int32, row, column, width int64, droppedBefore bool) error {
	shift := int64(0)
	if len(got) > 0 && (droppedBefore || c.dropping.Load() && int64(got[0]) != row*loadColumns+column+1) {
		shift = loadDropped
	}
	for i, v := range got {
		r, k := row+shift+int64(i)/width, column+int64(i)%width
		if want := r*loadColumns + k + 1; int64(v) != want {
			return fmt.Errorf("%s: row %d and column %d have %d, want %d", path, r-shift, k, v, want)
		}
	}
	return nil
}

// plain reads the array as it is stored.
func (c *client) plain(ctx context.Context) error { return c.read(ctx, "/n", c.rows.Load()) }

// regular reads the view whose grid is proposed, or the one that follows it.
func (c *client) regular(ctx context.Context) error {
	view := "/@regular/n"
	status, body, header, err := c.get(ctx, view+"/zarr.json")
	if err != nil {
		return err
	}
	if status == http.StatusGone {
		if view, err = c.successor(view, header, body); err != nil {
			return err
		}
		return c.read(ctx, view, c.rows.Load()-loadDropped)
	}
	a, err := c.open(ctx, view)
	if err != nil {
		return c.mayBeGone(err)
	}
	first := c.random.Int64N(loadRows - loadDropped - 8)
	got, err := zarr.Read[int32](ctx, a, selection.Box{{first, first + 8}, {200, 900}})
	if err != nil {
		return c.mayBeGone(err)
	}
	return c.sees(view, got.Data, first, 200, 700, false)
}

// mayBeGone returns an error of a view that cannot have ended.
func (c *client) mayBeGone(err error) error {
	if c.dropping.Load() {
		return nil
	}
	return err
}

// successor returns the address to which an answer of status 410 leads.
func (c *client) successor(view string, header http.Header, body []byte) (string, error) {
	c.gone.Add(1)
	link, _, found := strings.Cut(strings.TrimPrefix(header.Get("Link"), "<"), "/>")
	if !found || !c.dropping.Load() {
		return "", fmt.Errorf("%s is gone, and the next one is %q: %s", view, header.Get("Link"), body)
	}
	return link, nil
}

// chunk reads a chunk of the pinned view, whose grid the client knows for ever.
func (c *client) chunk(ctx context.Context) error {
	rows, dropped := c.rows.Load(), c.dropped.Load()
	i, j := c.random.Int64N((rows+pinnedRows-1)/pinnedRows), c.random.Int64N(loadColumns/pinnedWidth+1)
	path := c.pinnedPath(i, j)
	status, body, header, err := c.get(ctx, path)
	if err != nil {
		return err
	}
	if status == http.StatusGone {
		_, err := c.successor(path, header, body)
		return err
	}
	if dropped {
		return fmt.Errorf("%s is still there after rows were dropped", path)
	}
	return seesChunk(path, body, i, j, rows)
}

// pinnedPath returns the address of a chunk of the pinned view.
func (c *client) pinnedPath(i, j int64) string {
	if strings.HasPrefix(c.pinned, "@v2") {
		return fmt.Sprintf("/%s/n/%d.%d", c.pinned, i, j)
	}
	return fmt.Sprintf("/%s/n/c/%d/%d", c.pinned, i, j)
}

// seesChunk compares a chunk of a pinned view: the rows that there were before the
// request are there, and later ones are either there or have the fill value.
func seesChunk(path string, body []byte, i, j, rows int64) error {
	if len(body) != pinnedRows*pinnedWidth*4 {
		return fmt.Errorf("%s has %d bytes", path, len(body))
	}
	for k := range int64(pinnedRows * pinnedWidth) {
		row, column := i*pinnedRows+k/pinnedWidth, j*pinnedWidth+k%pinnedWidth
		want, v := row*loadColumns+column+1, int64(int32(binary.LittleEndian.Uint32(body[4*k:])))
		if column >= loadColumns {
			want = 0
		}
		if v != want && (v != 0 || row < rows) {
			return fmt.Errorf("%s: row %d and column %d have %d, want %d", path, row, column, v, want)
		}
	}
	return nil
}

// values reads rows in the form raw.
func (c *client) values(ctx context.Context) error {
	dropped := c.dropped.Load()
	first := c.random.Int64N(c.rows.Load() - loadDropped - 8)
	path := fmt.Sprintf("/@values/n?format=raw&select=%d:%d,100:400", first, first+8)
	status, body, _, err := c.get(ctx, path)
	if err != nil || status != http.StatusOK {
		return errors.Join(err, fmt.Errorf("%s: status %d", path, status))
	}
	return c.seesRaw(path, body, first, 8, 100, 300, dropped)
}

// seesRaw is sees for elements as bytes.
func (c *client) seesRaw(path string, body []byte, row, rows, column, width int64, dropped bool) error {
	got := make([]int32, len(body)/4)
	if _, err := binary.Decode(body, binary.LittleEndian, got); err != nil || int64(len(got)) != rows*width {
		return fmt.Errorf("%s: %d bytes, %w", path, len(body), err)
	}
	return c.sees(path, got, row, column, width, dropped)
}

// begin sends a request on a connection that takes little, and reads the beginning of the
// answer.
func (c *client) begin(path string) (net.Conn, *bufio.Reader, error) {
	conn, err := net.Dial("tcp", c.server.Listener.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(64 << 10) // else the answer is taken at once
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	r := bufio.NewReaderSize(conn, 1<<10)
	if err == nil {
		_, err = r.Peek(100)
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, r, nil
}

// slow takes the beginning of two answers, and the rest of them after the array has
// changed: one after a compaction, the other after rows were dropped.
func (c *client) slow(i int) {
	for _, event := range []<-chan struct{}{c.changed, c.ended} {
		if err := c.waiting(i, event); err != nil {
			c.t.Errorf("slow client %d: %v", i, err)
		}
	}
}

func (c *client) waiting(i int, event <-chan struct{}) error {
	paths := []string{
		"/n/c/2/0", "/@values/n?format=raw&select=0:64", "/@regular,chunks=64x1024,codec=none/n/c/0/0", "/@v2,chunks=64x1024,codec=none/n/0.0",
	}
	path := paths[i%4]
	conn, r, err := c.begin(path)
	if err != nil {
		return err
	}
	defer conn.Close()
	<-event
	is, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	defer is.Body.Close()
	body, err := io.ReadAll(is.Body)
	if err != nil && c.dropping.Load() && i%4 == 1 {
		return nil // cut short, which is an error for the client
	}
	if err == nil && is.StatusCode == http.StatusGone && c.dropping.Load() {
		return nil
	}
	if err != nil || is.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d, %w", path, is.StatusCode, err)
	}
	switch i % 4 {
	case 1:
		return c.seesRaw(path, body, 0, 64, 0, loadColumns, false)
	case 2, 3:
		return c.seesRaw(path, body, 0, 64, 0, loadColumns, false)
	}
	if !bytes.Equal(body, c.stored[strings.TrimPrefix(path, "/n/")]) {
		return fmt.Errorf("%s: other bytes", path)
	}
	return nil
}

// vanishing goes away within each of its answers.
func (c *client) vanishing() {
	c.pinned = "@regular,chunks=10x300,codec=none"
	for range loadRequests {
		path := []string{"/n/c/2/0", "/@values/n?format=json&select=0:30", c.pinnedPath(2, 2), "/@regular/n/c/0/0"}[c.random.IntN(4)]
		conn, _, err := c.begin(path)
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			c.t.Error("a client that goes away: ", err)
			return
		}
	}
}
