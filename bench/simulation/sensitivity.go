// SPDX-License-Identifier: Apache-2.0

package main

// sensitivity is the table of runs in which one input differs from those of the others:
// the rechunking by claims, if tables tell what is stored.
func (p *page) sensitivity() string {
	var v variants
	base := p.setup(p.chunks, taking(claimsEach), once)
	v.add(base, "nothing", "")
	u := base
	u.executor = taking(10)
	v.add(u, "--take", "10,000")
	v.set(base, "lease", "5 min", func(c *costs) { c.lease = 300 })
	v.set(base, "life of workers", "for ever", func(c *costs) { c.life = 0 })
	v.set(base, "partitions", "1", func(c *costs) { c.partitions = 1 })
	v.set(base, "parts in flight", "32", func(c *costs) { c.uploads = 32 })
	u = base
	u.workers = 3000
	v.add(u, "workers", "3,000")
	u = base
	u.executor, u.costs.life = restarting("", perWorker(claimsEach)), 0
	v.add(u, "an engine that restarts, life", "for ever")
	return p.outcomes([2]string{"changed", "to"}, v.rows, v.setups)
}

// variants are setups with their names.
type variants struct {
	rows   [][2]string
	setups []setup
}

func (v *variants) add(u setup, what, to string) {
	v.rows, v.setups = append(v.rows, [2]string{what, to}), append(v.setups, u)
}

// set adds a setup with other costs. The loads of its stages follow from them.
func (v *variants) set(u setup, what, to string, change func(c *costs)) {
	change(&u.costs)
	u.work = rechunking(&u.costs, chunks)
	v.add(u, what, to)
}
