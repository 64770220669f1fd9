// SPDX-License-Identifier: Apache-2.0

// Package calendar implements the calendars of the CF conventions, so that time axes can
// be cut by month or by year. It only does arithmetic, no I/O.
//
//	u, err := calendar.ParseUnits("days since 1950-01-01", calendar.NoLeap)
//	lengths, err := calendar.Edges(values, u, calendar.Month) // 31, 28, 31, …
//
// A [Calendar] converts between a [Date] and a day number. An [Instant] is a day number
// and the nanoseconds within that day, so it is exact over millions of years. [Units]
// convert between the numbers of a time coordinate ("hours since 1900-01-01") and
// instants. [Steps] are evenly spaced times without a coordinate.
//
// A bucket is a month or a year ([Unit]) of an axis. [Edges] returns the number of
// elements in each bucket, which are the lengths of chunks with one bucket each.
// [Buckets] answers questions about a growing axis: where the next bucket begins, and
// whether a bucket begins at an edge. [Continue] looks beyond evenly spaced values, and
// [Predict] to the end of the last bucket of others.
//
// Years are astronomical in every calendar: the year before 1 is 0, and the year before
// that is -1. There are no leap seconds. An element belongs to the bucket that holds its
// coordinate value, whatever its bounds are.
package calendar
