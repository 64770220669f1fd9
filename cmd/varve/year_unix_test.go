// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/selection"
)

// asProgram is the environment variable that makes this test program one of those that
// use the array of [TestYear]. It holds the name of a part and its arguments.
const asProgram = "VARVE_TEST_PROGRAM"

// parts are the programs. Each returns when its standard input ends.
var parts = map[string]func(ctx context.Context, a *zarr.Array, args []string) error{"append": appendDays, "write": writeDays, "read": readDays}

// TestProgramItself is not a test. It is a program that uses an array.
func TestProgramItself(t *testing.T) {
	args := strings.Fields(os.Getenv(asProgram))
	if len(args) == 0 {
		t.Skip("a test starts it")
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	a, err := zarr.OpenArray(context.Background(), args[1], &zarr.Options{Write: args[0] != "read"})
	if err == nil {
		err = parts[args[0]](ctx, a, args[2:])
	}
	if err != nil {
		fmt.Println("failed", err)
		t.Fatal(err)
	}
}

// yearWidth is the number of elements of a day.
const yearWidth = 24

// most is the highest number of writes to one day.
const most = 10_000

// yearGrace is the grace of the vacuums. Writes that take longer may meet a conflict.
const yearGrace = time.Second

// dayOf returns the elements of a day after n writes.
func dayOf(day int64, n int) []int32 {
	return slices.Repeat([]int32{int32(1+day)*most + int32(n)}, yearWidth)
}

// appendDays appends days up to a number, and prints each.
func appendDays(ctx context.Context, a *zarr.Array, args []string) error {
	until, err := strconv.ParseInt(args[0], 10, 64)
	for day := a.Shape()[0]; day < until && err == nil && ctx.Err() == nil; day++ {
		if err = zarr.Append(context.Background(), a, 0, dayOf(day, 0), nil); err == nil {
			fmt.Println("day", day)
		}
	}
	return err
}

// writeDays writes to days that exist, and prints a line before and after each write.
func writeDays(ctx context.Context, a *zarr.Array, args []string) error {
	seed, err := strconv.ParseUint(args[0], 10, 64)
	r, written := rand.New(rand.NewPCG(seed, 1)), map[int64]int{}
	for err == nil && ctx.Err() == nil {
		if err = a.Refresh(context.Background()); err != nil {
			break
		}
		day := r.Int64N(a.Shape()[0])
		written[day]++
		fmt.Println("begin", day, written[day])
		begun := time.Now()
		err = zarr.Write(context.Background(), a, selection.Box{{day, day + 1}, {0, yearWidth}}, dayOf(day, written[day]))
		switch {
		case err == nil:
			fmt.Println("end", day, written[day])
		case errors.Is(err, zarr.ErrConflict) && time.Since(begun) > yearGrace:
			err = nil // a slow machine: such a write is to be repeated, as the next one is
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

// readDays reads all days again and again: each is whole, and never goes back. It begins
// each round with the document that it knows, and looks for a new one every third time.
func readDays(ctx context.Context, a *zarr.Array, _ []string) error {
	var last []int32
	rounds := 0
	for ; ctx.Err() == nil; rounds++ {
		b, err := zarr.Read[int32](context.Background(), a, nil)
		if err != nil {
			return err
		}
		for day := range b.Shape[0] {
			row := b.Data[day*yearWidth:][:yearWidth]
			if row[0] < int32(1+day)*most || row[0] >= int32(2+day)*most || slices.Min(row) != slices.Max(row) {
				return fmt.Errorf("day %d of %d is %v in %s", day, b.Shape[0], row, a)
			}
		}
		if len(b.Data) < len(last) {
			return fmt.Errorf("there were %d elements, and there are %d", len(last), len(b.Data))
		}
		last = b.Data
		if rounds%3 == 0 {
			if err := a.Refresh(context.Background()); err != nil {
				return err
			}
		}
	}
	fmt.Println("rounds", rounds)
	return nil
}

// program is one of the programs of TestYear. It is told to end by the end of its input.
type program struct {
	*exec.Cmd
	in   io.Closer
	over chan struct{}

	mu    sync.Mutex
	lines []string
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProgramItself$"), over: make(chan struct{})}
	p.Env = append(os.Environ(), asProgram+"="+strings.Join(args, " "))
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err == nil {
		p.in, err = in, p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.over)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, s.Text())
			p.mu.Unlock()
		}
	}()
	return p
}

// messages returns what the program has printed.
func (p *program) messages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// end lets the program end, and returns what it has printed.
func (p *program) end(t *testing.T) []string {
	t.Helper()
	p.in.Close()
	<-p.over
	if err := p.Wait(); err != nil {
		t.Errorf("%s: %v: %q", p.Env[len(p.Env)-1], err, p.messages())
	}
	return p.messages()
}

// keeper runs commands on the array, and kills some of them at random.
type keeper struct {
	*rand.Rand
	usual       time.Duration // that the last command took
	kills, done int
}

// run repeats a command until it has ended by itself. It returns false if the command
// was refused, as a rechunk is while all keys are within the grace.
func (k *keeper) run(t *testing.T, args ...string) bool {
	t.Helper()
	for {
		p := start(t, args...)
		begun, life := time.Now(), time.Duration(k.Int64N(int64(k.usual+k.usual/2)))
		if k.IntN(6) == 0 {
			life = time.Hour
		}
		select {
		case <-p.ended:
		case <-time.After(life):
			_ = p.Process.Kill()
			<-p.ended
		}
		switch code := p.ProcessState.ExitCode(); {
		case code < 0:
			k.kills++
			continue
		case code == 0:
			k.done++
			k.usual = min(max(time.Since(begun), 10*time.Millisecond), time.Second)
			return true
		case strings.Contains(p.errs.String(), "no chunk keys are free"):
			return false
		default:
			t.Fatalf("varve %q: status %d: %s", args, code, p.errs.String())
		}
	}
}

// TestYear appends the days of a year and some weeks, one by one. Meanwhile commands make
// months and then years of them, and delete superseded grids; they are killed at random
// and repeated. Another process writes to days, and three read. In the end all days are
// right, and varve check has nothing to say. With VARVE_SOAK, there are more years.
func TestYear(t *testing.T) {
	racing.Skip(t) // processes share no memory; test/rechunk does all of this in one
	days := int64(soaked(t, 365+40, 6*365+40))
	node := filepath.Join(t.TempDir(), "s.zarr", "t2m")
	must(t, "", "create", node, "--shape", "2,"+strconv.Itoa(yearWidth), "--chunks", "[[1,1],"+strconv.Itoa(yearWidth)+"]", "--dtype", "int32")
	a, err := zarr.OpenArray(t.Context(), node, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := zarr.Write(t.Context(), a, nil, slices.Concat(dayOf(0, 0), dayOf(1, 0))); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	appender, writer := startProgram(t, "append", node, strconv.FormatInt(days, 10)), startProgram(t, "write", node, strconv.FormatUint(seed, 10))
	var readers []*program
	for range 3 {
		readers = append(readers, startProgram(t, "read", node))
	}
	k := &keeper{Rand: rand.New(rand.NewPCG(seed, 2)), usual: 100 * time.Millisecond}
	for last := false; ; {
		for _, unit := range []string{"month", "year"} {
			k.run(t, "compact", node, "--to", "calendar:"+unit, "--start", "2023-01-01", "--step", "1d")
			k.run(t, "vacuum", node, "--grace", yearGrace.String(), "--yes")
		}
		if last {
			break
		}
		select {
		case <-appender.over:
			last = true // once more, with all days
		default:
		}
	}
	appended := appender.end(t)
	lines := writer.end(t)
	for _, r := range readers {
		t.Log(r.end(t))
	}
	time.Sleep(yearGrace)
	for !k.run(t, "compact", node, "--to", "calendar:year", "--start", "2023-01-01", "--step", "1d") {
		k.run(t, "vacuum", node, "--grace", yearGrace.String(), "--yes")
	}
	time.Sleep(yearGrace)
	must(t, "", "vacuum", node, "--grace", yearGrace.String(), "--yes")
	checkYear(t, node, days, lines)
	t.Logf("%d days appended, %d writes, %d commands, %d killed", len(appended), len(lines)/2, k.done, k.kills)
	if k.kills == 0 {
		t.Error("no command was killed")
	}
}

// checkYear checks the days, the chunks, and what is stored.
func checkYear(t *testing.T, node string, days int64, lines []string) {
	t.Helper()
	ended, begun := map[int64]int{}, map[int64]int{}
	for _, line := range lines {
		var what string
		var day int64
		var n int
		if _, err := fmt.Sscan(line, &what, &day, &n); err != nil {
			continue // of the testing package
		}
		if begun[day] = n; what == "end" {
			ended[day] = n
		}
	}
	a, err := zarr.OpenArray(t.Context(), node, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || b.Shape[0] != days {
		t.Fatalf("%v days (%v), want %d", b.Shape, err, days)
	}
	for day := range days {
		got := b.Data[day*yearWidth:][:yearWidth]
		if !slices.Equal(got, dayOf(day, ended[day])) && !slices.Equal(got, dayOf(day, begun[day])) {
			t.Errorf("day %d is %v after %d writes", day, got, ended[day])
		}
	}
	s, err := calendar.ParseSteps("2023-01-01", "1d", "standard")
	if err != nil {
		t.Fatal(err)
	}
	years, err := s.Buckets(calendar.Year).Edges(days)
	want, gridErr := grid.New([]int64{days, yearWidth}, grid.Edges(years...), grid.Every(yearWidth))
	if err = errors.Join(err, gridErr); err != nil || !a.Grid().Equal(want) {
		t.Errorf("%s, want %s (%v)", a.Grid(), want, err)
	}
	if out, errs, status := execute(t, "", "check", node); status != 0 || errs != "" {
		t.Errorf("check: status %d: %s%s", status, out, errs)
	} else {
		t.Log(out)
	}
	err = filepath.WalkDir(node, func(name string, d os.DirEntry, err error) error {
		// The lock file of a process that was killed stays, and the next one uses it. So
		// do the notes of a vacuum.
		if err == nil && !d.IsDir() && strings.Contains(name, "__") && !slices.Contains([]string{"__varve.lock", "__varve.publish"}, d.Name()) &&
			!strings.HasPrefix(d.Name(), "vacuumed-") {
			t.Errorf("%s is left", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
