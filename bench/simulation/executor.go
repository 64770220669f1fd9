// SPDX-License-Identifier: Apache-2.0

package main

// executor is a way to hand out the tasks of a stage. Tasks are handed out in parcels:
// the shares of jobs, claims, or the bundles of an engine.
type executor struct {
	name    string
	parcels func(tasks int64, workers int) int64
	each    bool // a process joins for each parcel; else once for each stage
	// keeps is set if who goes on with a parcel joins after that, so that it knows which
	// of its tasks are done.
	keeps bool
	// restarts is set if the loss of a worker restarts the job: everybody begins again,
	// and finished parcels are offered once more.
	restarts bool
	renews   bool // whoever has a parcel says so again and again
	// late is set if nobody looks for the parcels of lost workers while there are others.
	late     bool
	notice   func(c *costs) float64           // seconds until a parcel of a lost worker is offered again
	requests func(c *costs, workers int) load // for a parcel
}

// longestLook is the longest time between looks at the claims of others, in seconds.
const longestLook = 5

// few returns a number of parcels that has so many tasks in each.
func few(tasks int64) func(int64, int) int64 {
	return func(all int64, _ int) int64 { return max(1, all/tasks) }
}

// perWorker returns a number of parcels that has so many for each worker.
func perWorker(n int64) func(int64, int) int64 {
	return func(all int64, workers int) int64 { return min(all, n*int64(workers)) }
}

// shares are array jobs: as many for each worker as given. The scheduler begins a job
// again whose worker was lost.
func shares(name string, n int64) executor {
	return executor{
		name: name, parcels: perWorker(n), each: true, keeps: true,
		notice: func(c *costs) float64 { return c.requeue },
	}
}

// claims are long-lived processes that take one claim after the other from the store. A
// process that finds no free claim looks at those of others every few seconds. It takes a
// claim over when it has seen no renewal for a lease.
func claims(name string, parcels func(int64, int) int64) executor {
	return executor{
		name: name, parcels: parcels, renews: true, late: true,
		notice: func(c *costs) float64 { return c.lease + min(c.lease/4, longestLook)/2 },
		requests: func(c *costs, workers int) load {
			// A listing has a page for 1,000 claims, and another one for 1,000 records.
			// Each worker has parcels/workers claims, so their number cancels out.
			return load{looks: int64(2 * c.looks * float64(workers) / pageNames), changes: 2}
		},
	}
}

// bundles are those of an engine that offers a bundle again alone. A worker that has
// joined before does not know what was done in it.
func bundles(name string, parcels func(int64, int) int64) executor {
	return executor{
		name: name, parcels: parcels,
		notice:   func(c *costs) float64 { return c.bundle },
		requests: func(*costs, int) load { return load{} },
	}
}

// restarting is an engine that restarts the job when a worker is lost.
func restarting(name string, parcels func(int64, int) int64) executor {
	e := bundles(name, parcels)
	e.restarts, e.keeps = true, true
	return e
}
