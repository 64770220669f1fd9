// SPDX-License-Identifier: Apache-2.0

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

	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/progress"
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

// slowly is a stream of two bytes. The second one comes after progress showed the first.
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

// TestProgressOfStreams checks the progress of input from a pipe, of known and unknown
// length.
func TestProgressOfStreams(t *testing.T) {
	promptly(t)
	for _, n := range []int64{-1, 2} {
		shown := new(shared)
		v := &input.Values{Reader: &slowly{shown: shown}, Name: "x"}
		v.Watch = func(total int64) *progress.Line { return progress.On(shown, "reading", total) }
		if copied, err := v.PutAside(n); copied != 2 || err != nil {
			t.Errorf("%d bytes, %v", copied, err)
		}
	}
}

// init prevents progress lines in other tests, whose commands may be slow on a busy
// machine.
func init() { progress.Delay = time.Hour }

// promptly shows progress as soon as there is any.
func promptly(t *testing.T) {
	delay, period := progress.Delay, progress.Period
	progress.Delay, progress.Period = 0, time.Millisecond
	t.Cleanup(func() { progress.Delay, progress.Period = delay, period })
}

// watchedScreen is a terminal that calls seen once its text contains a given text.
type watchedScreen struct {
	shared
	text    string
	closing sync.Once
	seen    func()
}

func (*watchedScreen) IsTerminal() bool { return true }

func (s *watchedScreen) Write(b []byte) (int, error) {
	n, err := s.shared.Write(b)
	if strings.Contains(s.String(), s.text) {
		s.closing.Do(s.seen)
	}
	return n, err
}

// TestProgressOfCommands holds the lock that a command waits for until the command shows
// its progress line. The line must disappear after the work, and contain nothing else.
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
			status := run(t.Context(), args, console.Streams{In: strings.NewReader(""), Out: screen, Err: screen})
			release()
			if got := screen.String(); status != 0 || !strings.Contains(got, c.shows) {
				t.Fatalf("status %d, shown %q, want %q in it", status, got, c.shows)
			}
			for line := range strings.SplitSeq(screen.String(), "\n") {
				parts := strings.Split(line, console.Wiped)
				// The folder of the test may be in /dev/shm.
				if left := strings.ReplaceAll(parts[len(parts)-1], group, "GROUP"); strings.Contains(left, "/s") || strings.Contains(left, "left") {
					t.Errorf("a line of progress stays: %q", line)
				}
			}
		})
	}
}

// holdLock takes the lock of a node, and returns a function that releases it.
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
	return sync.OnceFunc(func() { _ = errors.Join(unlock(), store.Close(s)) })
}
