// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fence

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

func init() { roles["acknowledge"] = acknowledgeInChild }

// mostAppends is the highest number of appends for which [batchOf] has numbers.
const mostAppends = 9999

// acknowledgeInChild appends to the array in a directory until it is killed. It prints a
// line for each append that was made.
func acknowledgeInChild(args []string) error {
	s, err := filestore.Open(args[0], nil)
	if err != nil {
		return err
	}
	defer store.Close(s)
	writer, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	ctx := context.Background()
	a, err := opened(ctx, zarr.At(s, ""))
	if err != nil {
		return err
	}
	for seq := range mostAppends {
		if _, err := fmt.Println(seq); err != nil { // the number of appends made so far
			return err
		}
		if err := zarr.Append(ctx, a, 0, batchOf(writer, seq), nil); err != nil {
			return fmt.Errorf("writer %d, append %d: %w", writer, seq, err)
		}
	}
	return fmt.Errorf("writer %d lived for %d appends", writer, mostAppends)
}

// schedule says when a writer is stopped and killed. After stopAt appends, if that is
// not negative, it is stopped for a while. After killAt appends it is killed, perhaps
// while it is stopped.
type schedule struct {
	stopAt, killAt int
	before, pause  time.Duration // from the acknowledgement to the signal; of the stop
	inStop         bool
}

func drawSchedule(r *rand.Rand) schedule {
	d := schedule{stopAt: -1, killAt: r.IntN(44), before: time.Duration(r.Int64N(int64(3 * time.Millisecond)))}
	if r.IntN(10) < 3 {
		d.stopAt, d.pause = r.IntN(d.killAt+1), time.Duration(r.Int64N(int64(15*time.Millisecond)))
		d.inStop = r.IntN(4) == 0
	}
	return d
}

// soakTally counts what happened to writers.
type soakTally struct {
	mu                                  sync.Mutex
	kills, stops, appends, looks, inAir int
}

func (c *soakTally) add(kills, stops, appends int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills, c.stops, c.appends = c.kills+kills, c.stops+stops, c.appends+appends
}

// live runs a writer until it is killed, and returns the number of appends that it
// acknowledged.
func (c *soakTally) live(t *testing.T, dir string, writer int, d schedule) (told int, err error) {
	p := child(t, "acknowledge", dir, strconv.Itoa(writer))
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		return 0, err
	}
	stops, stopped := 0, make(chan struct{})
	stop := func() {
		defer close(stopped)
		time.Sleep(d.before)
		if p.Process.Signal(syscall.SIGSTOP) == nil {
			stops++
		}
		time.Sleep(d.pause)
		if !d.inStop {
			_ = p.Process.Signal(syscall.SIGCONT)
		}
	}
	kill := func() {
		if d.stopAt >= 0 {
			<-stopped
		} else {
			time.Sleep(d.before)
		}
		_ = p.Process.Kill()
	}
	if d.stopAt < 0 {
		close(stopped)
	}
	told = -1 // the first line is 0
	var ending sync.WaitGroup
	for lines := bufio.NewScanner(out); lines.Scan(); {
		told++
		if lines.Text() != strconv.Itoa(told) {
			err = fmt.Errorf("writer %d says %q, want %d", writer, lines.Text(), told)
			_ = p.Process.Kill()
		}
		if told == d.stopAt {
			ending.Go(stop)
			if d.inStop {
				ending.Go(kill)
			}
		}
		if told == d.killAt && !(d.inStop && d.stopAt >= 0) {
			ending.Go(kill)
		}
	}
	ending.Wait()
	if waitErr := p.Wait(); err == nil && (p.ProcessState.Exited() || told < 0) {
		err = fmt.Errorf("writer %d ended by itself: %w", writer, waitErr)
	}
	c.add(1, stops, max(0, told))
	return told, err
}

// round lets several writers append to a new array, each until it is killed, while one
// reader reads. Afterwards every acknowledged append is in the array once, every other
// append is whole or absent, and there is nothing else.
func (c *soakTally) round(t *testing.T, spec zarr.Spec, seed uint64) {
	const slots, lives = 3, 4
	dir := t.TempDir()
	h := zarr.At(fixture.OpenStore(t, dir), "")
	startArray(t, h, spec)
	told := make([]int, 1+slots*lives)
	var writers, readers errgroup.Group
	done := make(chan struct{})
	readers.Go(func() error {
		return watch(t.Context(), h, done, func(rows []int32) error {
			c.looks++
			time.Sleep(time.Millisecond) // leave the processors to the writers
			_, err := checkBatches(rows)
			return err
		})
	})
	for slot := range slots {
		r := rand.New(rand.NewPCG(seed, uint64(slot)))
		writers.Go(func() (err error) {
			for i := 0; i < lives && err == nil; i++ {
				writer := 1 + slot*lives + i
				told[writer], err = c.live(t, dir, writer, drawSchedule(r))
			}
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	close(done)
	if err := readers.Wait(); err != nil {
		t.Errorf("seed %d: a reader: %v", seed, err)
	}
	if t.Failed() {
		return
	}
	nothingLeft(t, h)
	rows, err := rowsOf(t.Context(), h)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	found, err := checkBatches(rows)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for writer, n := range told[1:] {
		more := found[writer+1] - n
		if more != 0 && more != 1 {
			t.Errorf("seed %d: writer %d acknowledged %d appends, %d are in the array", seed, writer+1, n, found[writer+1])
		}
		c.inAir += more
		delete(found, writer+1)
	}
	if want := map[int]int{0: 1}; !maps.Equal(found, want) {
		t.Errorf("seed %d: the array has batches %v, want %v", seed, found, want)
	}
}

// TestSoakKills stops, continues and kills processes that append to one array, three at
// a time. Every append that a process acknowledged is in the array once.
func TestSoakKills(t *testing.T) {
	racing.Skip(t) // processes share no memory; the goroutines of TestSoakSharing do
	kills, stops, appends := fixture.Soaked(t, 36, 4433), fixture.Soaked(t, 3, 1112), fixture.Soaked(t, 300, 92_408)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("VARVE_SEED"); text != "" {
		seed = fixture.Must(strconv.ParseUint(text, 10, 64))
	}
	shards := fixture.Every(batchRows, 24)
	shards.InnerChunks = grid.Chunks(4)
	specs := []zarr.Spec{growing["edges"], growing["regular"], shards}
	var c soakTally
	for i := uint64(0); !t.Failed() && (c.kills < kills || c.stops < stops || c.appends < appends); i++ {
		t.Run(fmt.Sprint("round ", i), func(t *testing.T) { c.round(t, specs[i%uint64(len(specs))], seed+i) })
	}
	t.Logf("seed %d: %d kills, %d stops, %d acknowledged appends, none lost or doubled; %d more were made; %d looks of readers",
		seed, c.kills, c.stops, c.appends, c.inAir, c.looks)
}
