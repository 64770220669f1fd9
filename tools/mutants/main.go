// SPDX-License-Identifier: Apache-2.0

// Command mutants breaks the protocols of the library on purpose, one line at a time,
// and reports the changes that the quick tests do not detect.
//
// A mutant is an entry of mutants.txt: a file, an old text, a new text, and tests of
// which one must fail. The command tests each mutant separately with the overlay of the
// go command, so no file of the working tree changes. The tests must pass without a
// mutant first. A mutant is killed if a test fails. A mutant whose tests only time out
// is counted separately, as one that hangs. The exit status is 1 if a mutant survives,
// does not compile, or no longer matches its file.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"time"
)

//go:embed mutants.txt
var list string

func main() {
	name := flag.String("run", "", "only mutants whose names match this regular expression")
	parallel := flag.Int("parallel", 2, "mutants that are tested at one time")
	limit := flag.Duration("timeout", 90*time.Second, "time for the tests of one mutant")
	baseline := flag.Bool("baseline", true, "first run the tests without a mutant; false is for a tree whose tests have just passed")
	verbose := flag.Bool("v", false, "also print killed mutants")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *name, *parallel, *limit, *baseline, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string, parallel int, limit time.Duration, baseline, verbose bool) error {
	wanted, err := regexp.Compile(name)
	if err != nil {
		return err
	}
	mutants, err := parse(list)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, limit: limit}
	var chosen []*mutant
	for _, m := range mutants {
		if wanted.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if baseline {
		if err := b.baseline(ctx, chosen, parallel); err != nil {
			return err
		}
	}
	begin, bad, hanging := time.Now(), 0, 0
	each(parallel, chosen, func(m *mutant) string { return b.judge(ctx, m) }, func(m *mutant, verdict string) {
		switch {
		case verdict != "":
			if verdict == hangs {
				hanging++
			} else {
				bad++
			}
			fmt.Printf("%s (%s): %s\n", m.name, m.file, verdict)
		case verbose:
			fmt.Printf("%s: killed\n", m.name)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	fmt.Printf("%d mutants, %d killed, %d hang, %v\n", len(chosen), len(chosen)-bad-hanging, hanging, time.Since(begin).Round(time.Second))
	if bad > 0 {
		return fmt.Errorf("%d of %d mutants survived or could not be tested", bad, len(chosen))
	}
	return nil
}

// each judges all items concurrently, and calls tell for one verdict at a time.
func each[T any](parallel int, items []T, judge func(T) string, tell func(T, string)) {
	var (
		all   sync.WaitGroup
		mutex sync.Mutex
		slots = make(chan struct{}, max(1, parallel))
	)
	for _, item := range items {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			verdict := judge(item)
			mutex.Lock()
			defer mutex.Unlock()
			tell(item, verdict)
		})
	}
	all.Wait()
}
