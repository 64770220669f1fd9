// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// Latency is how long a small request takes.
type Latency struct {
	Request string        `json:"request"` // "get" or "put", of 1000 bytes
	Median  time.Duration `json:"median_ns"`
	P95     time.Duration `json:"p95_ns"`
}

// Rate is the throughput of reads that a program begins at one time. A store that limits
// its requests has fewer in flight; see [Report.Limited].
type Rate struct {
	AtOnce int     `json:"reads_at_once"`
	Rate   float64 `json:"bytes_per_second"`
}

// MostBytes is the most bytes that a throughput can be measured with, which are in
// memory.
const MostBytes = 1 << 30

// leastPart is the size of the parts that are read at once.
const leastPart = 1 << 20

// measure measures latency and throughput.
func (d *doctor) measure(ctx context.Context, o Options) error {
	if o.Rounds > 0 {
		for _, m := range []struct {
			name string
			run  func() error
		}{
			{"get", func() error { _, _, err := d.get(ctx, "first", store.Whole()); return err }},
			{"put", func() error { _, err := d.put(ctx, "first", value(1)); return err }},
		} {
			l, err := latency(m.name, o.Rounds, m.run)
			if err != nil {
				return fmt.Errorf("measuring the latency of %s: %w", m.name, err)
			}
			d.report.Latency = append(d.report.Latency, l)
		}
	}
	if o.Bytes < leastPart {
		return nil
	}
	if _, err := d.put(ctx, "large", make([]byte, o.Bytes)); err != nil {
		return fmt.Errorf("writing a value of %s: %w", quantity.Count(o.Bytes, "bytes"), err)
	}
	d.report.Limited = store.TraitsOf(d.s).Requests > 0
	for _, n := range []int{1, 8, 32, 128} {
		rate, err := d.rate(ctx, o.Bytes, n)
		if err != nil {
			return fmt.Errorf("measuring the throughput of %d reads at once: %w", n, err)
		}
		d.report.Rates = append(d.report.Rates, Rate{n, rate})
	}
	return nil
}

func latency(name string, rounds int, run func() error) (Latency, error) {
	times := make([]time.Duration, rounds)
	for i := range times {
		begun := time.Now()
		if err := run(); err != nil {
			return Latency{}, err
		}
		times[i] = time.Since(begun)
	}
	slices.Sort(times)
	return Latency{name, times[rounds/2], times[min(rounds-1, rounds*95/100)]}, nil
}

// rate reads a value in parts, so many at once, each of them one part at least, and
// returns bytes per second.
func (d *doctor) rate(ctx context.Context, size int64, atOnce int) (float64, error) {
	parts := int(size / leastPart)
	reads := max(parts, atOnce)
	next := make(chan int)
	errs := make(chan error, atOnce)
	key := d.key("large")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	begun := time.Now()
	for range atOnce {
		all.Go(func() {
			buffer := make([]byte, 0, leastPart)
			for i := range next {
				q := store.Request{Range: store.Span(int64(i%parts)*leastPart, leastPart)}
				if _, _, err := d.s.Get(ctx, key, q, buffer); err != nil {
					errs <- err
					cancel()
					return
				}
			}
		})
	}
feed:
	for i := range reads {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	all.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return float64(reads) * leastPart / time.Since(begun).Seconds(), nil
}
