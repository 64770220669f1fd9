// SPDX-License-Identifier: Apache-2.0

// Command serving measures varve serve on loopback: stored keys beside nginx and
// http.FileServer, a view beside its codecs in process and two servers in Python, and the
// time to the first byte and to a tile. "run" in this folder starts it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"varve.dev/zarr/bench/protocol"
)

// settings are the flags of the command line.
type settings struct {
	varve, python, out, data string
	rounds                   int
	only                     string
}

func main() {
	var s settings
	files := flag.String("files", "", "do not measure, but serve this `FOLDER` with http.FileServer")
	flag.StringVar(&s.varve, "varve", "", "the command varve, a `FILE`")
	flag.StringVar(&s.python, "python", "", "the `FILE` of a Python that has the other servers")
	flag.StringVar(&s.out, "out", "", "write the tables to this `FILE`, and the data beside it; standard output by default")
	flag.StringVar(&s.data, "data", "", "make the data sets in this `FOLDER`; the default is a temporary one")
	flag.IntVar(&s.rounds, "rounds", 5, "measure so many rounds")
	flag.StringVar(&s.only, "only", "keys,view,peers,tiles,first,memory", "the `PARTS` to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *files != "" {
		err = serveFiles(*files)
	} else {
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/serving:", err)
		os.Exit(1)
	}
}

// serveFiles serves a folder until it is killed.
func serveFiles(dir string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/\n", l.Addr())
	return http.Serve(l, http.FileServer(http.Dir(dir)))
}

// run makes the data sets, measures, and writes the report.
func run(ctx context.Context, s settings) error {
	dir, err := os.MkdirTemp(s.data, "varve-serving-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &report{Machine: protocol.Machine(), Rounds: s.rounds}
	if err := makeAll(ctx, dir); err != nil {
		return err
	}
	b := &bench{settings: s, dir: dir, report: r}
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{{"keys", b.keys}, {"view", b.view}, {"peers", b.peers}, {"tiles", b.tiles}, {"first", b.first}, {"memory", b.memory}} {
		if !strings.Contains(","+s.only+",", ","+part.name+",") {
			continue
		}
		if err := part.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Fprintln(os.Stderr, "measured", part.name)
	}
	if s.out == "" {
		r.markdown(os.Stdout)
		return nil
	}
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(strings.TrimSuffix(s.out, filepath.Ext(s.out))+".json", append(data, '\n'), 0o666); err != nil {
		return err
	}
	f, err := os.Create(s.out)
	if err != nil {
		return err
	}
	r.markdown(f)
	return f.Close()
}

// bench is a run.
type bench struct {
	settings
	dir    string // of the data sets
	report *report
}
