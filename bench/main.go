// SPDX-License-Identifier: Apache-2.0

// Bench compares Varve with other implementations of Zarr and with the limits of the
// machine: the same work on the same stores, in turns, in one run, with every answer
// checked. See PERFORMANCE.md.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 3 && os.Args[1] == "launch" {
		os.Exit(launched(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the command line's flags.
type settings struct {
	cache, out       string
	rows, candidates []string
	size             size
	rounds           int
	cold, list, grow bool
	options, rechunk bool
	encoding, cloud  bool
	mirror           bool
	from             string        // saved results of series to draw again
	limit            time.Duration // for one run of a program
	slow             time.Duration // longer runs are not repeated
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&s.cache, "cache", cacheFolder(), "`folder` of data sets and of programs that bench/setup installs")
	flags.StringVar(&s.out, "out", "", "`file` for the tables, as Markdown; JSON goes beside it. Standard output by default")
	rows := flags.String("rows", "", "`rows`, series or options to run, with commas: 1 or 2/uneven or 1/zstd/all; by default all, or for the small size the most important ones")
	candidates := flags.String("candidates", "", "`names` of candidates, with commas; by default all that are installed")
	name := flags.String("size", "small", "small or full; with -rechunk also tiny")
	flags.IntVar(&s.rounds, "rounds", 3, "the number of measurements of everything")
	flags.BoolVar(&s.cold, "cold", false, "drop the stores from the cache of the system before each run")
	flags.BoolVar(&s.grow, "grow", false, "measure how cost grows, in series, and draw it: plots go into the folder plots beside the tables")
	flags.BoolVar(&s.options, "options", false, "measure the cost and benefit of each option of Varve, with Varve alone")
	flags.BoolVar(&s.rechunk, "rechunk", false, "measure rechunking beside what bounds it and other programs")
	flags.BoolVar(&s.cloud, "cloud", false, "measure a bucket of a server with the interface of S3")
	flags.BoolVar(&s.mirror, "mirror", false, "measure copies of many small objects beside cp, rsync, s5cmd and rclone")
	flags.BoolVar(&s.encoding, "encoding", false, "compare settings of codecs for whole arrays, for chunks, and for chunks cut by content, in memory and with Varve alone")
	flags.StringVar(&s.from, "from", "", "`file` of JSON from a run with -grow: write its tables and plots again, and measure nothing")
	flags.BoolVar(&s.list, "list", false, "list rows and candidates, and run nothing")
	flags.DurationVar(&s.limit, "limit", 10*time.Minute, "the time limit for one run")
	flags.DurationVar(&s.slow, "slow", 0, "measure work that takes longer only once; 3s for the small size, 2m for the full one")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.size, err = sizeOf(*name); s.rechunk && *name == "tiny" {
		s.size, err = sizes[0], nil
		s.size.name = *name
	}
	if s.rechunk && *name != "full" {
		s.limit, s.slow = min(s.limit, time.Minute), cmp.Or(s.slow, 10*time.Second)
	}
	if err != nil {
		return s, err
	}
	if s.slow == 0 {
		s.slow = s.size.slow
	}
	s.rows, s.candidates = list(*rows), list(*candidates)
	if s.options && (s.grow || s.from != "" || len(s.candidates) > 0) {
		return s, fmt.Errorf("-options measures Varve alone: not with -grow, -from or -candidates")
	}
	if s.rounds < 1 || flags.NArg() > 0 {
		return s, fmt.Errorf("%d rounds, arguments %v: at least one round and no arguments are allowed", s.rounds, flags.Args())
	}
	return s, nil
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// cacheFolder is the folder that bench/setup uses.
func cacheFolder() string {
	if dir := os.Getenv("VARVE_BENCH_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "varve-bench")
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	switch {
	case s.grow || s.from != "":
		return grow(ctx, s)
	case s.rechunk:
		return rechunkAll(ctx, s)
	case s.cloud:
		return cloudAll(ctx, s)
	case s.mirror:
		return mirrorAll(ctx, s)
	case s.encoding:
		return encode(ctx, s)
	case s.options:
		return try(ctx, s)
	}
	rows := chosen(s.size, s.rows)
	found, missing, err := present(s.cache, s.candidates)
	if err != nil {
		return err
	}
	if run, err := offer(s, rows, func(r row) (id, title string) { return r.id, r.title }, found, missing); !run {
		return err
	}
	report := &report{Machine: describe(s, missing)}
	report.Rows, err = measureAll(ctx, s, rows, func(row) []candidate { return found })
	if err != nil {
		return err
	}
	return save(s.out, report)
}

// offer reports whether there is anything to run. With -list it prints the rows and
// candidates instead.
func offer[T any](s settings, all []T, name func(T) (id, title string), found []candidate, missing []string) (run bool, err error) {
	if s.list {
		for _, v := range all {
			id, title := name(v)
			fmt.Printf("%-28s %s\n", id, title)
		}
		fmt.Println("candidates:", names(found), "missing:", missing)
		return false, nil
	}
	if len(all) == 0 || len(found) == 0 {
		return false, fmt.Errorf("nothing to do: %d rows, %d candidates; -list prints all of them", len(all), len(found))
	}
	return true, nil
}
