// SPDX-License-Identifier: Apache-2.0

// Package crash stops the machine, or fails a request, before every operation of every
// kind of change. The next program must find the old state or the new one. [Run] lets the
// tests of a driver do a part of it on a real object store.
package crash
