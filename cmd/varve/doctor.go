// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/doctor"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/store"
)

func newDoctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor URL|DIR",
		Short: "Probe a store: what holds there, how fast it is, and what follows",
		Long: `Probe a store: whether reads see what was written before, whether conditions of concurrent writers hold, which powers
it has, how fast it is, and what follows for arrays there.

URL is that of an object store, as s3://bucket/prefix, or a folder that exists. The command writes small values there, in a folder of
its own whose name begins with __varve-doctor-, and deletes them in the end. For throughput it writes one value of --size
and reads it in parts, several at once; the store's own limit of requests in flight applies. --quick measures nothing.`,
		Example: `  varve doctor .
  varve doctor . --quick --json`,
		Args: usage.Arguments("URL"),
	}
	size, quick := "32MiB", false
	flagtext.Var(c.Flags(), &size, "size", size, "measure throughput with a value of this `SIZE`, at most 1GiB", flagtext.Needed("a size such as 32MiB"))
	c.Flags().BoolVar(&quick, "quick", false, "measure neither latency nor throughput")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		o := doctor.Options{Rounds: 20}
		var err error
		if o.Bytes, err = phrase.ParseSize(size); err != nil {
			return failure.BadUsage("--size %s: %v", size, err)
		}
		if o.Bytes > doctor.MostBytes {
			return failure.BadUsage("--size %s: want at most %s", size, phrase.Bytes(doctor.MostBytes))
		}
		if quick {
			o = doctor.Options{}
		}
		return examine(cmd, args[0], o)
	}
	return c
}

// examine probes the store of a location and prints the report.
func examine(cmd *cobra.Command, location string, o doctor.Options) error {
	at, err := zarr.Locate(cmd.Context(), location, store.ReadWrite)
	if err != nil {
		return err
	}
	defer store.Close(at.Store())
	dir, err := store.ParsePath(at.Path())
	if err != nil {
		return err
	}
	report, err := doctor.Examine(cmd.Context(), store.Driver(at.Store()), dir, o)
	if err != nil {
		return failure.On("doctor", location, err)
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, report)
	}
	return session.Print(cmd, func(w *bufio.Writer) error { return printReport(w, location, report) })
}

func printReport(w *bufio.Writer, location string, r *doctor.Report) error {
	fmt.Fprintf(w, "%s\n\n", phrase.Printable(location))
	for _, f := range r.Findings {
		fmt.Fprintf(w, "  %-7s  %s\n", f.Outcome, f.Title)
		if f.Note != "" {
			fmt.Fprintf(w, "           (%s)\n", phrase.Printable(f.Note))
		}
	}
	if len(r.Latency) > 0 {
		fmt.Fprintf(w, "\n")
	}
	for _, l := range r.Latency {
		fmt.Fprintf(w, "  %-4s of 1000 bytes   median %v, 95 %% within %v\n", l.Request, rounded(l.Median), rounded(l.P95))
	}
	for _, rate := range r.Rates {
		reads := "reads"
		if rate.AtOnce == 1 {
			reads = "read "
		}
		fmt.Fprintf(w, "  %3d %s of 1 MiB at once: %s/s\n", rate.AtOnce, reads, phrase.Bytes(int64(rate.Rate)))
	}
	if len(r.Rates) > 0 && r.Limited {
		fmt.Fprintf(w, "  (the store's limit of requests in flight applies, so fewer may have been in flight)\n")
	}
	fmt.Fprintf(w, "\n")
	for _, text := range r.Advice {
		fmt.Fprintf(w, "%s\n", text)
	}
	return nil
}

// rounded rounds a duration to three digits or so.
func rounded(d time.Duration) time.Duration {
	for unit := time.Second; unit > time.Microsecond; unit /= 10 {
		if d > unit {
			return d.Round(unit / 100)
		}
	}
	return d.Round(time.Microsecond / 10)
}
