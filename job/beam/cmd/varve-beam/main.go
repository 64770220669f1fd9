// SPDX-License-Identifier: Apache-2.0

// Varve-beam executes a plan of Varve on Apache Beam: by default on Prism in this
// process, with flags of Beam on Flink, Dataflow or any other engine. It is also the
// program that the workers of an engine execute.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Workers open locations of object stores, all codecs, and references in Parquet files.
import (
	_ "varve.dev/zarr/codec/extra"
	_ "varve.dev/zarr/store/azure"
	_ "varve.dev/zarr/store/gcs"
	_ "varve.dev/zarr/store/s3"
	_ "varve.dev/zarr/virtual/parquet"
)

func main() {
	if isWorker(os.Args[1:]) {
		flag.Parse()
		beam.Init() // it works until the engine has no more work, and does not return
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// isProcess reports whether an engine has started this program with
// --environment_type=PROCESS.
func isProcess(args []string) bool {
	return slices.ContainsFunc(args, func(s string) bool { return strings.HasPrefix(s, "--provision_endpoint=") })
}

// isWorker reports whether the boot program of an engine has started this program.
func isWorker(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.ContainsFunc(args, func(s string) bool {
		return slices.Contains([]string{"--worker", "--worker=true", "-worker", "-worker=true"}, s)
	})
}

// The exit statuses.
const (
	failed  = 1
	misused = 2
)

// errUsage means that the arguments are wrong.
var errUsage = errors.New("wrong usage")

// run executes the command, and returns its exit status.
func run(ctx context.Context, args []string, out, notes io.Writer) int {
	if isProcess(args) {
		return exitStatus(serveProcess(ctx, args, notes), notes)
	}
	c, err := parse(args, notes)
	if err == nil && c.pool != "" {
		err = servePool(ctx, c.pool)
	} else if err == nil {
		err = c.execute(ctx, out, notes)
	}
	return exitStatus(err, notes)
}

// exitStatus prints an error, and returns the exit status.
func exitStatus(err error, notes io.Writer) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(notes, "varve-beam: %v\nvarve-beam --help explains the usage\n", err)
		return misused
	}
	fmt.Fprintf(notes, "varve-beam: %v\n", err)
	return failed
}
