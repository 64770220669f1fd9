// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"context"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"varve.dev/zarr/internal/job"
)

// Namespace is that of the metrics of workers: the counters "tasks", "bytes_read",
// "bytes_written", "requests" and "retries", and the distribution "task_ms", the
// milliseconds that a task took with its retries, also while it waited for another one of
// its process. An engine counts what it repeats once.
const Namespace = "varve"

var (
	tasks    = beam.NewCounter(Namespace, "tasks")
	read     = beam.NewCounter(Namespace, "bytes_read")
	written  = beam.NewCounter(Namespace, "bytes_written")
	requests = beam.NewCounter(Namespace, "requests")
	retries  = beam.NewCounter(Namespace, "retries")
	millis   = beam.NewDistribution(Namespace, "task_ms")
)

// count counts a task that is done.
func count(ctx context.Context, r *job.Record, took time.Duration) {
	tasks.Inc(ctx, 1)
	read.Inc(ctx, r.Read)
	written.Inc(ctx, r.Written)
	for _, n := range r.Requests {
		requests.Inc(ctx, n)
	}
	millis.Update(ctx, took.Milliseconds())
}
