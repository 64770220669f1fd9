// SPDX-License-Identifier: Apache-2.0

package cached_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
)

// childVariable makes this program another process of TestProcesses: the folder, and
// which of two origins it reads.
const childVariable = "VARVE_TEST_CACHE"

const (
	sharedLimit = 2 << 20
	sharedKeys  = 24
)

// child reads values until it is ended. It stops with a message if one is wrong.
func child() {
	dir, seed, ok := strings.Cut(os.Getenv(childVariable), "|")
	if !ok {
		return
	}
	n, _ := strconv.Atoi(seed)
	c, err := cached.Open(dir, sharedLimit)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	c.Warn = func(err error) { fmt.Println("warning:", err) }
	s := cached.New(origin(n%2), c, nil)
	fmt.Println("ready")
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		k := rand.N(sharedKeys)
		r := store.Whole()
		if rand.N(2) == 0 {
			r = store.Span(rand.N[int64](100_000), 1+rand.N[int64](50_000))
		}
		value := originValue(n%2, k)
		got, _, err := s.Get(context.Background(), originKey(k), store.Request{Range: r}, nil)
		off, m, _ := r.Resolve(int64(len(value)))
		if err != nil || !bytes.Equal(got, value[off:off+m]) {
			fmt.Printf("%s of key %d: %d bytes, error %v\n", r, k, len(got), err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

func originKey(k int) store.Key { return store.MustKey("c/" + strconv.Itoa(k)) }

// originValue returns a value. Half of them are equal in both origins.
func originValue(which, k int) []byte { return pattern(150_000+1000*k, k+100*(k%2)*which) }

// origin makes a store whose versions are the same in each process. In the second one,
// half of the values were replaced.
func origin(which int) *far {
	f := newFar()
	for k := range sharedKeys {
		if _, err := f.Write(context.Background(), store.Put(originKey(k), originValue(0, k)), store.Flush); err != nil {
			panic(err)
		}
	}
	for k := 1; k < sharedKeys && which == 1; k += 2 {
		if _, err := f.Write(context.Background(), store.Put(originKey(k), originValue(1, k)), store.Flush); err != nil {
			panic(err)
		}
	}
	return f
}

// TestProcesses lets processes share a folder, and ends some of them at any time.
func TestProcesses(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ours := folder(t, dir, sharedLimit)
	type process struct {
		cmd *exec.Cmd
		out bytes.Buffer
	}
	start := func(n int) *process {
		p := &process{cmd: exec.CommandContext(t.Context(), exe, "-test.run=^$")}
		p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d", childVariable, dir, n))
		p.cmd.Stdout = &p.out
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	var running [3]*process
	for i := range running {
		running[i] = start(i)
	}
	s := cached.New(origin(0), ours, nil)
	ended := 0
	for began := time.Now(); time.Since(began) < 3*time.Second; ended++ {
		k := ended % sharedKeys
		got, _, err := s.Get(t.Context(), originKey(k), store.Request{}, nil)
		if err != nil || !bytes.Equal(got, originValue(0, k)) {
			t.Errorf("key %d: %d bytes, error %v", k, len(got), err)
		}
		if held, err := ours.Held(); err != nil || held > sharedLimit {
			t.Errorf("%d bytes are held, the limit is %d; error %v", held, sharedLimit, err)
		}
		time.Sleep(rand.N(60 * time.Millisecond))
		i := rand.N(len(running))
		p := running[i]
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // it was ended
		if out := p.out.String(); strings.TrimSpace(strings.ReplaceAll(out, "ready", "")) != "" {
			t.Errorf("a process says: %s", out)
		}
		running[i] = start(i + ended)
	}
	for _, p := range running {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if out := p.out.String(); strings.TrimSpace(strings.ReplaceAll(out, "ready", "")) != "" {
			t.Errorf("a process says: %s", out)
		}
	}
	t.Logf("%d processes were ended", ended+len(running))
	if held, err := ours.Held(); err != nil || held > sharedLimit || held < sharedLimit/4 {
		t.Errorf("in the end %d bytes are held, error %v", held, err)
	}
}
