/* SPDX-License-Identifier: Apache-2.0 */

/* Functions that GNU libc has since version 2.38, for the binary of @earthmover/icechunk on
 * older systems. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

long __isoc23_strtol(const char *s, char **end, int base) { return strtol(s, end, base); }
long long __isoc23_strtoll(const char *s, char **end, int base) { return strtoll(s, end, base); }
unsigned long __isoc23_strtoul(const char *s, char **end, int base) { return strtoul(s, end, base); }
unsigned long long __isoc23_strtoull(const char *s, char **end, int base) { return strtoull(s, end, base); }

int __isoc23_sscanf(const char *s, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int n = vsscanf(s, format, list);
	va_end(list);
	return n;
}
