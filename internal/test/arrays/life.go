// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Life lets processes append to one array, write to regions of it, take rows out, put
// rows in, and give it other grids, while others read it. Processes are killed and
// stopped at random. A ledger knows what was begun and what was acknowledged, and every
// reader must find all of the latter, and nothing but the former. The seed decides on the
// array and on what each process does; the machine decides on the order.
//
// at returns the location of an array at the URL of a server, behind a proxy that harms
// one in rate requests. Without a server, it returns a directory.
func Life(t *testing.T, server string, rate int, at func(url, name string) string, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	spec, moves := draw(r)
	l := &life{t: t, moves: moves, seed: seed}
	if len(spec.Shape) > 1 {
		l.writers = min(2, spec.Shape[1])
	} else {
		l.writers = 1
	}
	name := fmt.Sprintf("life-%d", seed)
	if server != "" {
		l.proxy = newProxy(t, server, rate, seed)
		server = l.proxy.url
	}
	l.location = at(server, name)
	l.ledger = newLedger(widthOf(spec.Shape))
	if err := l.create(spec); err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d: shape %v, chunks %v, shards %t, format %d, moves %t", seed, spec.Shape, spec.Chunks, spec.InnerChunks != nil, spec.Format, moves)
	if l.proxy != nil {
		l.proxy.harm(true)
	}
	l.live(fixture.Soaked(t, 12, 60))
	if l.proxy != nil {
		l.proxy.harm(false)
		l.proxy.settle()
		t.Log(l.proxy.text())
	}
	if !t.Failed() {
		l.end(r)
	}
	t.Logf("%d appends, %d writes, %d rechunks, %d moves acknowledged; %d reads; %d kills, %d stops; %d errors; rows: %v",
		l.actions.appends.Load(), l.actions.writes.Load(), l.actions.recuts.Load(), l.actions.moves.Load(), l.actions.reads.Load(),
		l.actions.kills.Load(), l.actions.stops.Load(), l.actions.errors.Load(), l.ledger.counts())
}

// life is the life of one array.
type life struct {
	t        *testing.T
	seed     uint64
	location string
	ledger   *ledger
	proxy    *proxy // nil for a directory
	moves    bool
	writers  int64
	done     atomic.Bool // the appenders and writers have ended
	actions  struct {
		appends, writes, recuts, moves, reads, kills, stops, errors atomic.Int64
	}
}

// draw chooses an array: its rank, its grid, its format, and whether rows move.
func draw(r *rand.Rand) (spec zarr.Spec, moves bool) {
	spec = zarr.Spec{Type: dtype.Int64, Format: 3, Shape: []int64{2}}
	for range r.IntN(3) {
		spec.Shape = append(spec.Shape, 2+r.Int64N(5))
	}
	for axis, n := range spec.Shape {
		c := 1 + r.Int64N(5)
		if axis > 0 {
			c = 1 + r.Int64N(n)
		}
		spec.Chunks = append(spec.Chunks, grid.Every(c))
	}
	switch r.IntN(4) {
	case 0:
		spec.Chunks[0] = grid.Edges(1, 1)
	case 1:
		spec.InnerChunks = append([]grid.Cut(nil), spec.Chunks...)
	case 2:
		if len(spec.Shape) > 1 { // with one axis, format 2 has no free chunk keys
			spec.Format = 2
		}
	}
	return spec, spec.Format == 3 && r.IntN(2) == 0
}

// create makes the array with two rows.
func (l *life) create(spec zarr.Spec) error {
	ctx := l.t.Context()
	a, err := zarr.CreateArray(ctx, l.location, spec, nil)
	if err != nil {
		return err
	}
	first := l.ledger.add(2)
	h := &hand{array: a}
	if err := zarr.Write(ctx, a, nil, h.elements(first, 2)); err != nil {
		return err
	}
	l.ledger.set(present, first, first+1)
	return a.Close()
}

// live starts all programs. It returns when each appender and writer has done a number of
// things.
func (l *life) live(times int) {
	var busy, others sync.WaitGroup
	random := func(k int) *rand.Rand { return rand.New(rand.NewPCG(l.seed, uint64(k))) }
	for k := range 2 {
		busy.Go(func() { l.appends(random(10+k), times) })
	}
	for k := range l.writers {
		busy.Go(func() { l.writes(random(20+int(k)), times, k) })
	}
	others.Go(func() { l.recuts(random(30)) })
	others.Go(func() { l.reads(random(40), true) })
	others.Go(func() { l.reads(random(41), false) })
	busy.Wait()
	l.done.Store(true)
	others.Wait()
}

// over reports whether a loop ends: it has done enough, or the test has failed.
func (l *life) over(n, times int) bool { return n >= times || l.t.Failed() }

// mostTries bounds how often a program may fail for each thing that it is to do.
const mostTries = 40

// appends appends rows until so many appends were acknowledged.
func (l *life) appends(r *rand.Rand, times int) {
	w := l.start(r)
	defer w.end()
	for n, tries := 0, 0; !l.over(n, times); tries++ {
		k := 1 + r.IntN(4)
		first := l.ledger.add(k)
		if _, ok := w.tell("append %d %d", first, k); ok {
			l.ledger.set(present, span(first, k)...)
			l.actions.appends.Add(1)
			n++
		} else if tries > mostTries*times {
			l.t.Errorf("seed %d: %d of %d appends failed", l.seed, tries+1-n, tries+1)
		}
	}
}

// span returns n numbers from first on.
func span(first int64, n int) (ids []int64) {
	for i := range n {
		ids = append(ids, first+int64(i))
	}
	return ids
}

// writes writes to the cells of one part of the columns.
func (l *life) writes(r *rand.Rand, times int, part int64) {
	w := l.start(r)
	defer w.end()
	for n, tries := 0, 0; !l.over(n, times); tries++ {
		if tries > mostTries*times {
			l.t.Errorf("seed %d: %d of %d writes failed", l.seed, tries-n, tries)
		}
		answer, ok := w.tell("look %d %d %d", r.Uint32(), part, l.writers)
		if !ok {
			continue
		}
		var rows []int64
		var from, to int
		for k, word := range strings.Fields(answer)[1:] {
			var v int64
			_, _ = fmt.Sscan(strings.Trim(word, "[]"), &v) // the hand prints numbers
			switch k {
			case 0:
				from = int(v)
			case 1:
				to = int(v)
			default:
				rows = append(rows, v)
			}
		}
		write := l.ledger.begin(rows, from, to)
		if _, ok := w.tell("store %d", write); ok {
			l.ledger.end(write, rows, from, to)
			l.actions.writes.Add(1)
			n++
		}
	}
}

// recuts gives the array other grids, and moves rows, until the life is over. It is the
// only program that moves rows, so it knows their places.
func (l *life) recuts(r *rand.Rand) {
	w := l.start(r)
	defer w.end()
	for !l.done.Load() && !l.t.Failed() {
		switch k := r.IntN(6); {
		case k < 2 && l.moves:
			l.move(r, w)
		case k == 5:
			w.tell("vacuum")
		default:
			// A process that was killed may have left a claim. This is the only one
			// that claims the array.
			if _, ok := w.tell("recut %d 1", r.Uint32()); ok {
				l.actions.recuts.Add(1)
			}
		}
	}
}

// move takes some rows out, or puts some in.
func (l *life) move(r *rand.Rand, w *worker) {
	ids, _, err := l.all()
	if err != nil || len(ids) < 8 {
		return
	}
	at := r.IntN(4)
	n := 1 + r.IntN(3)
	drop := r.IntN(2) == 0
	var rows []int64
	var ok bool
	if drop {
		rows = ids[at : at+n]
		l.ledger.set(leaving, rows...)
		_, ok = w.tell("drop %d %d", at, at+n)
	} else {
		rows = span(l.ledger.add(n), n)
		_, ok = w.tell("insert %d %d %d", at, rows[0], n)
	}
	if ok {
		l.actions.moves.Add(1)
	}
	if !ok && l.proxy != nil {
		l.proxy.settle() // a request of a killed process may be under way
	}
	for !l.t.Failed() {
		_, there, err := l.all()
		if err != nil {
			continue
		}
		if ok && there[rows[0]] == drop {
			err = fmt.Errorf("wrong: row %d of a move (a drop: %t) that was acknowledged", rows[0], drop)
		} else {
			err = l.ledger.settle(rows, there, drop)
		}
		if err != nil {
			l.t.Errorf("seed %d: %v", l.seed, err)
		}
		return
	}
}

// all returns the rows of the array, in order and as a set.
func (l *life) all() ([]int64, map[int64]bool, error) {
	data, err := l.read()
	if err != nil {
		return nil, nil, err
	}
	return l.ledger.idsOf(data)
}

// read opens the array and reads all of it.
func (l *life) read() ([]int64, error) {
	ctx := l.t.Context()
	a, err := zarr.OpenArray(ctx, l.location, nil)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := zarr.Read[int64](ctx, a, nil)
	return b.Data, err
}

// reads reads the array until the life is over, and opens it again each time, or rarely.
func (l *life) reads(r *rand.Rand, fresh bool) {
	var a *zarr.Array
	var known map[int64]entry
	ctx := l.t.Context()
	for !l.done.Load() && !l.t.Failed() {
		if a == nil || fresh || r.IntN(16) == 0 {
			if a != nil {
				_ = a.Close() // it was only read
			}
			known = l.ledger.moment()
			var err error
			if a, err = zarr.OpenArray(ctx, l.location, nil); err != nil {
				l.failed(err)
				a = nil
				continue
			}
		}
		b, err := zarr.Read[int64](ctx, a, nil)
		if err == nil {
			l.actions.reads.Add(1)
			err = l.ledger.check(b.Data, known, true)
		}
		if err != nil {
			l.failed(fmt.Errorf("a reader (fresh: %t): %w", fresh, err))
			_ = a.Close() // it is opened again
			a = nil
		}
	}
	if a != nil {
		_ = a.Close() // it was only read
	}
}

// failed reports an error. Only wrong elements fail the test: processes are killed with
// locks and claims, conflicts are errors, and a proxy does harm.
func (l *life) failed(err error) {
	l.actions.errors.Add(1)
	if strings.Contains(err.Error(), "wrong:") || strings.Contains(err.Error(), "panic") {
		l.t.Errorf("seed %d: %v", l.seed, err)
	} else if testing.Verbose() {
		l.t.Log(err)
	}
}

// end checks the array, gives it one more grid, and deletes superseded ones.
func (l *life) end(r *rand.Rand) {
	ctx := l.t.Context()
	a, err := zarr.OpenArray(ctx, l.location, &zarr.Options{Write: true})
	if err != nil {
		l.t.Fatalf("seed %d: %v", l.seed, err)
	}
	defer a.Close()
	h := &hand{array: a}
	steps := []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"an abandoned rechunk", func() error { return rechunk.Abandon(ctx, a, &rechunk.Options{TakeOver: true}) }},
		{"a vacuum", func() error {
			_, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1})
			return err
		}},
		{"another grid", func() error { return h.do(ctx, lifeRequest(r, a), true) }},
	}
	for _, s := range steps {
		known := l.ledger.moment()
		err := s.do()
		var data []int64
		if err == nil {
			data, err = l.read()
		}
		if err == nil {
			err = l.ledger.check(data, known, true)
		}
		if err != nil {
			l.t.Fatalf("seed %d: after %s: %v", l.seed, s.name, err)
		}
	}
	if report, err := check.Run(ctx, a, nil); err != nil || len(report.Findings) > 0 {
		l.t.Errorf("seed %d: check finds %v (%v)", l.seed, report, err)
	}
}

// worker is a process of a life, and the next one if it is killed.
type worker struct {
	*life
	r       *rand.Rand
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	typical time.Duration // of what was done last
}

func (l *life) start(r *rand.Rand) *worker {
	w := &worker{life: l, r: r, typical: 50 * time.Millisecond}
	w.restart()
	return w
}

func (w *worker) restart() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s 0 0", roleName, live), locationName+"="+w.location, "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		var out io.ReadCloser
		out, err = cmd.StdoutPipe()
		w.out = bufio.NewScanner(out)
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Errorf("seed %d: %v", w.seed, err)
	}
	w.cmd, w.in = cmd, in
}

// tell gives an order, and perhaps kills or stops the process meanwhile. ok reports
// whether the process has acknowledged it.
func (w *worker) tell(order string, args ...any) (answer string, ok bool) {
	if w.cmd.Process == nil {
		return "", false
	}
	begin := time.Now()
	calm := w.harass()
	fmt.Fprintf(w.in, order+"\n", args...)
	heard := w.out.Scan()
	calm()
	if !heard {
		_ = w.cmd.Wait() // it was killed
		w.restart()
		return "", false
	}
	w.typical = (w.typical + time.Since(begin)) / 2
	answer = w.out.Text()
	if ok = strings.HasPrefix(answer, "ok"); !ok {
		w.failed(fmt.Errorf(order+": %s", append(args, answer)...))
	}
	return answer, ok
}

// harass may kill the process, or stop it for a while, at a random moment of what it does
// now. calm ends that, and lets a stopped process continue.
func (w *worker) harass() (calm func()) {
	when := time.Duration(w.r.Int64N(int64(w.typical*3/2) + 1))
	process := w.cmd.Process
	switch w.r.IntN(12) {
	case 0:
		t := time.AfterFunc(when, func() {
			w.actions.kills.Add(1)
			_ = process.Kill() // it may have ended
		})
		return func() { t.Stop() }
	case 1:
		pause := time.Duration(w.r.Int64N(int64(300 * time.Millisecond)))
		over := make(chan struct{})
		t := time.AfterFunc(when, func() {
			defer close(over)
			w.actions.stops.Add(1)
			signal(process, "STOP")
			time.Sleep(pause)
			signal(process, "CONT")
		})
		return func() {
			if !t.Stop() {
				<-over
			}
		}
	}
	return func() {}
}

// signal sends a signal by its name. Systems without signals do not stop processes.
func signal(p *os.Process, name string) {
	_ = exec.CommandContext(context.Background(), "kill", "-"+name, fmt.Sprint(p.Pid)).Run()
}

func (w *worker) end() {
	if w.cmd.Process == nil {
		return
	}
	_ = w.in.Close() // its orders end
	for w.out.Scan() {
	}
	_ = w.cmd.Wait() // the same
}

// Dates lets the dates of answers be hours off, which tell drivers how old values are. No
// grace ends too early for that, and no reader takes a chunk of a newer grid for one of
// its own. at returns the location of an array at the URL of a server. Nothing is there
// before.
func Dates(t *testing.T, server string, at func(url, name string) string) {
	t.Run("grace", func(t *testing.T) { grace(t, server, at) })
	t.Run("first", func(t *testing.T) { first(t, server, at) })
	t.Run("slow", func(t *testing.T) { slow(t, at(server, "slow")) })
	t.Run("stale", func(t *testing.T) { stale(t, server, at) })
}

// grace vacuums an array right after a rechunk, again and again, while about every
// other answer has a wrong date. Each vacuum keeps the superseded grid, whose grace of an
// hour has begun just now.
func grace(t *testing.T, server string, at func(url, name string) string) {
	const vacuums = 24
	p := newProxy(t, server, math.MaxInt, 0)
	p.clock.period, p.clock.remaining = 0, math.MaxInt
	if err := filled(t.Context(), at(server, "grace"), twoBatches()); err != nil {
		t.Fatal(err)
	}
	p.harm(true)
	a, err := zarr.OpenArray(t.Context(), at(p.url, "grace"), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := recut(t.Context(), a, recutting(a, 0)); err != nil {
		t.Fatal(err)
	}
	for k := range vacuums {
		if kept, err := superseded(t.Context(), a, time.Hour); err != nil || kept != 1 {
			t.Fatalf("vacuum %d keeps %d grids, want 1 (%v)", k, kept, err)
		}
	}
	p.harm(false)
	if n := p.clock.skewed.Load(); n < 2*vacuums {
		t.Errorf("%d answers had a wrong date, at least %d in %d vacuums were expected", n, 2*vacuums, vacuums)
	}
	if kept, err := superseded(t.Context(), a, -1); err != nil || kept != 0 {
		t.Errorf("the vacuum without grace keeps %d grids (%v)", kept, err)
	}
}

// first vacuums an array by stores that know nothing of the clock yet. The first answers
// that each of them gets are hours ahead, one more for each vacuum. All keep the
// superseded grid.
func first(t *testing.T, server string, at func(url, name string) string) {
	const most = 32 // a vacuum takes fewer answers until it knows the age of the grid
	p := newProxy(t, server, math.MaxInt, 0)
	p.clock.remaining, p.clock.until = math.MaxInt, time.Now().Add(24*time.Hour)
	if err := filled(t.Context(), at(server, "first"), twoBatches()); err != nil {
		t.Fatal(err)
	}
	a, err := zarr.OpenArray(t.Context(), at(server, "first"), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := recut(t.Context(), a, recutting(a, 0)); err != nil {
		t.Fatal(err)
	}
	p.harm(true)
	for n := range most {
		p.clock.early = n
		if kept, err := vacuumed(t.Context(), at(p.url, "first")); err != nil || kept != 1 {
			t.Fatalf("the vacuum with %d answers hours ahead keeps %d grids, want 1 (%v)", n, kept, err)
		}
	}
	if p.clock.skewed.Load() == 0 {
		t.Error("no answer had a wrong date")
	}
}

// slow lists two values of about the same time, and takes seconds to handle the first
// one. That is no difference of the clocks.
func slow(t *testing.T, location string) {
	const pause, most = 3 * time.Second, 2 * time.Second
	s, dir, err := store.OpenLocation(t.Context(), location, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := s.(io.Closer); ok {
		defer c.Close()
	}
	for _, name := range []string{"one", "two"} {
		if _, err := store.Write(t.Context(), s, store.Put(dir.MustKey(name), []byte("x")), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	var times []time.Time
	for e, err := range store.List(t.Context(), s, dir, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if times = append(times, e.Modified); len(times) == 1 {
			time.Sleep(pause)
		}
	}
	if len(times) != 2 || times[1].Sub(times[0]).Abs() > most {
		t.Errorf("the times are %v, want two that differ by %v at most", times, most)
	}
}

// vacuumed opens an array, and vacuums it with a grace of an hour. It returns how many
// superseded grids stay.
func vacuumed(ctx context.Context, location string) (kept int, err error) {
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return 0, err
	}
	defer a.Close()
	return superseded(ctx, a, time.Hour)
}

// superseded vacuums an array, and returns how many superseded grids it keeps.
func superseded(ctx context.Context, a *zarr.Array, grace time.Duration) (kept int, err error) {
	r, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: grace})
	if err != nil {
		return 0, err
	}
	for _, i := range r.Items {
		if i.Kind == "superseded" && i.Kept != "" {
			kept++
		}
	}
	return kept, nil
}

// stale rechunks an array twice behind the back of a reader, so that a key has a chunk of
// the same length with other rows. Then dates are hours ahead, by which the chunk is
// older than the reader's grid. The reader finds the right rows all the same.
func stale(t *testing.T, server string, at func(url, name string) string) {
	p := newProxy(t, server, math.MaxInt, 0)
	p.clock.remaining = math.MaxInt
	p.clock.by, p.clock.until = 5*time.Hour, time.Now().Add(24*time.Hour)
	rows := twoBatches()
	if err := filled(t.Context(), at(server, "stale"), rows); err != nil {
		t.Fatal(err)
	}
	reader, err := zarr.OpenArray(t.Context(), at(p.url, "stale"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := recutTwice(t.Context(), at(server, "stale")); err != nil {
		t.Fatal(err)
	}
	p.harm(true)
	want := rows[chunkRows : 2*chunkRows]
	b, err := zarr.Read[int32](t.Context(), reader, selection.Box{{chunkRows, 2 * chunkRows}})
	if err != nil || !slices.Equal(b.Data, want) {
		t.Errorf("the reader finds %v, want %v (%v)", b.Data, want, err)
	}
	if p.clock.skewed.Load() == 0 {
		t.Error("no answer had a wrong date")
	}
}

// twoBatches returns as many rows as there are rows of programs.
func twoBatches() []int32 { return slices.Concat(batch(0, 0), batch(0, 1)) }

// filled makes an array of [Regular] and writes all rows of it.
func filled(ctx context.Context, location string, rows []int32) error {
	if err := Regular.create(ctx, location); err != nil {
		return err
	}
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return err
	}
	defer a.Close()
	return zarr.Write(ctx, a, nil, rows)
}

// recutTwice rechunks an array to chunks that have other rows under the same keys.
func recutTwice(ctx context.Context, location string) error {
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return err
	}
	defer a.Close()
	keys := a.Spec().KeyEncoding
	for _, r := range []rechunk.Rechunking{
		{Chunks: rechunk.Cuts{grid.Every(chunkRows + 1)}},
		{Chunks: rechunk.Cuts{grid.Edges(ownRows-chunkRows, chunkRows)}, Keys: &keys},
	} {
		if _, err := rechunk.Do(ctx, a, r, nil); err != nil {
			return err
		}
		if _, err := superseded(ctx, a, -1); err != nil {
			return err
		}
	}
	return nil
}
