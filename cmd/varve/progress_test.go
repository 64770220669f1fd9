package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// shared is a buffer for a goroutine that draws.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestProgress draws lines for work that is short, that lasts and that says nothing
// meanwhile.
func TestProgress(t *testing.T) {
	newOne := func() *progress {
		p := &progress{what: "reading", text: phrase.Bytes}
		p.look = p.done.Load
		p.total.Store(4 << 20)
		return p
	}
	short, long := new(shared), new(shared)
	p := newOne()
	p.drawOn(short, time.Hour, time.Hour)
	p.add(1 << 20)
	p.end()
	if got := short.String(); got != "" {
		t.Errorf("short work has a bar: %q", got)
	}
	p = newOne()
	p.add(2 << 20)
	p.drawOn(long, 0, time.Millisecond)
	for !strings.Contains(long.String(), "2.0 MiB of 4.0 MiB") {
		time.Sleep(time.Millisecond) // the goroutine draws, though nothing is added
	}
	p.end()
	if got := long.String(); !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the line stays: %q", got)
	}
}

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		what        string
		done, total int64
		text        func(int64) string
		want        string
	}{
		{"reading", 2 << 20, 4 << 20, phrase.Bytes, "reading " + strings.Repeat("█", 15) + strings.Repeat("░", 15) + " 2.0 MiB of 4.0 MiB  205 KiB/s  0:10 left\x1b[K"},
		{"shards", 1200, 4000, phrase.Count, "1,200 of 4,000  120/s  0:23 left\x1b[K"},
		{"copying", 10 << 20, 0, phrase.Bytes, "copying 10 MiB  1.0 MiB/s\x1b[K"},
		{"writing", 0, 4 << 20, phrase.Bytes, " 0 B of 4.0 MiB  0 B/s\x1b[K"},
	} {
		p := &progress{what: c.what, text: c.text}
		p.total.Store(c.total)
		p.look = func() int64 { return c.done }
		if got := p.line(10 * time.Second); !strings.HasSuffix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for seconds, want := range map[float64]string{0: "0:00", 67.4: "1:07", 3600: "1:00:00", 1e9: "long"} {
		if got := clock(seconds); got != want {
			t.Errorf("%v seconds are %s, want %s", seconds, got, want)
		}
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	c := newCatCommand()
	c.SetErr(new(bytes.Buffer))
	c.SetContext(t.Context())
	p := newProgress(c, "reading", 1)
	if p.add(1); p.w != nil {
		t.Error("a bar that nobody sees")
	}
	watched(c)
	p = newEstimate(c, "copying", 1, movedBytes)
	if p.end(); p.w != nil || observerOf(c.Context()) != observe.Observer(nil) {
		t.Error("an estimate that nobody sees")
	}
}

// slowly is a stream of two bytes, the second of which comes once the first one was
// shown.
type slowly struct {
	shown *shared
	read  int
}

func (s *slowly) Read(b []byte) (int, error) {
	switch s.read++; s.read {
	case 1:
		return copy(b, "x"), nil
	case 2:
		for !strings.Contains(s.shown.String(), "reading 1 B") && !strings.Contains(s.shown.String(), " 1 B of 2 B") {
			time.Sleep(time.Millisecond)
		}
		return copy(b, "y"), nil
	}
	return 0, io.EOF
}

// TestProgressOfStreams shows what comes in from a pipe, whether its length is known or
// not.
func TestProgressOfStreams(t *testing.T) {
	for _, n := range []int64{-1, 2} {
		shown := new(shared)
		v := &values{r: &slowly{shown: shown}, name: "x"}
		v.watch = func(total int64) *progress {
			p := &progress{what: "reading", text: phrase.Bytes}
			p.look = p.done.Load
			p.total.Store(total)
			p.drawOn(shown, 0, time.Millisecond)
			return p
		}
		if copied, err := v.putAside(n); copied != 2 || err != nil {
			t.Errorf("%d bytes, %v", copied, err)
		}
	}
}

// init keeps commands of other tests, which may take long on a machine that is busy, from
// showing lines of progress.
func init() { progressDelay = time.Hour }

// promptly shows progress as soon as there is any.
func promptly(t *testing.T) {
	delay, period := progressDelay, progressPeriod
	progressDelay, progressPeriod = 0, time.Millisecond
	t.Cleanup(func() { progressDelay, progressPeriod = delay, period })
}

// watchedScreen is a terminal that calls seen once what it shows contains some text.
type watchedScreen struct {
	shared
	text string
	once sync.Once
	seen func()
}

func (*watchedScreen) IsTerminal() bool { return true }

func (s *watchedScreen) Write(b []byte) (int, error) {
	n, err := s.shared.Write(b)
	if strings.Contains(s.String(), s.text) {
		s.once.Do(s.seen)
	}
	return n, err
}

// TestProgressOfCommands holds the lock that a command waits for, until the command has
// shown how much there is to do. The line goes once the work is over, and nothing else
// stands in it.
func TestProgressOfCommands(t *testing.T) {
	promptly(t)
	for _, c := range []struct {
		lock, shows string
		args        []string // GROUP stands for the group
	}{
		{"a", " 0 of 5  0/s", []string{"rm", "--yes", "GROUP/a"}},
		{"a", " 0 of 2  0/s", []string{"unlock", "GROUP"}},
		{"a", " 0 of 3  0/s", []string{"resize", "GROUP/a", "--shape", "3,3", "--yes"}},
		{"a", "attrs 0:00  ", []string{"attrs", "GROUP/a", "set", "k", "1"}},
		{"", "  0/s", []string{"consolidate", "GROUP"}},
		{"b", " 0 of 9  0/s", []string{"convert", "GROUP", "--to", "2"}},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			group := filepath.Join(t.TempDir(), "g.zarr")
			must(t, "", "create", group, "--group")
			for _, name := range []string{"/a", "/b"} {
				must(t, "", "create", group+name, "--shape", "8,3", "--dtype", "int8", "--chunks", "[2,3]", "--chunk-key-encoding", "v2.")
				must(t, "", "write", group+name, "--value", "1")
			}
			release := holdLock(t, group, c.lock)
			screen := &watchedScreen{text: c.shows, seen: func() { go release() }}
			args := []string{"--lock-timeout", "20s"}
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "GROUP", group))
			}
			status := run(t.Context(), args, streams{strings.NewReader(""), screen, screen})
			release()
			if got := screen.String(); status != 0 || !strings.Contains(got, c.shows) {
				t.Fatalf("status %d, shown %q, want %q in it", status, got, c.shows)
			}
			for line := range strings.SplitSeq(screen.String(), "\n") {
				parts := strings.Split(line, wiped)
				if left := parts[len(parts)-1]; strings.Contains(left, "/s") || strings.Contains(left, "left") {
					t.Errorf("a line of progress stays: %q", line)
				}
			}
		})
	}
}

// holdLock takes the lock of a node, and returns how to let go of it.
func holdLock(t *testing.T, location, node string) (release func()) {
	t.Helper()
	s, err := filestore.Open(location, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := store.ParsePath(node)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := store.Lock(t.Context(), s, path)
	if err != nil {
		t.Skip(err)
	}
	return sync.OnceFunc(func() { _ = errors.Join(unlock(), s.Close()) })
}

// TestConsole checks that text and lines of progress do not get in each other's way.
func TestConsole(t *testing.T) {
	var out, errs screenBuffer
	s := withConsole(streams{strings.NewReader(""), &out, &errs})
	c := consoleOf(s.err)
	older := c.newBar()
	_, _ = older.Write([]byte("\rolder"))
	newer := c.newBar()
	_, _ = older.Write([]byte("\rnothing"))
	_, _ = newer.Write([]byte("\rnewer"))
	_, _ = io.WriteString(s.out, "text\n")
	_, _ = io.WriteString(s.err, "question? ")
	_, _ = newer.Write([]byte("\rnothing"))
	c.answered()
	newer.end()
	_, _ = older.Write([]byte("\rolder"))
	_, _ = older.Write([]byte(wiped))
	older.end()
	_, _ = io.WriteString(s.err, "end\n")
	if got, want := errs.String(), "\rolder\rnewer"+wiped+"question? \rolder"+wiped+"end\n"; got != want || out.String() != "text\n" {
		t.Errorf("shown are %q and %q, want %q", got, out.String(), want)
	}
	if piped := withConsole(streams{nil, &out, new(bytes.Buffer)}); consoleOf(piped.out) != nil || consoleOf(piped.err) != nil {
		t.Error("what nobody looks at became a console")
	}
}
