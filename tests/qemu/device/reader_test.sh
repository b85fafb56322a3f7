#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Traces, read by others: the two formats tell the same of a run. FULL=1: protoc finds no field
# that Perfetto's description has not (protobuf-compiler), and the trace engine of Chrome's
# developer tools (@paulirish/trace_engine, of npm) reads the JSON and has nothing to say
# against it, and Speedscope (of npm, in Chromium) lists its tracks, compressed as they are in a
# profile. What is not there is skipped.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin reader

same()
{
    /usr/bin/python3 "$root/tests/qemu/device/pftrace.py" "$@" 2>&1
}

args=(matmul --m 200 --n 300 --k 700)
salai --trace t.json -- "${args[@]}"
salai --trace t.pftrace -- "${args[@]}"
tap_check reader/formats_say_the_same_of_matmul "$(has_status 0; same t.pftrace t.json raw)"
salai --cores 2 --trace t2.json -- vadd --n 20000
salai --cores 2 --trace t2.pftrace -- vadd --n 20000
tap_check reader/formats_say_the_same_of_vadd "$(has_status 0; same t2.pftrace t2.json)"
[ -n "${FULL:-}" ] || { tap_done; exit; }

# What a trace costs: bytes of a command, and the host's time, the best of five.
seconds()
{
    local i

    for i in 1 2 3 4 5; do
        { TIMEFORMAT='%U %S'; time salai "$@"; } 2>&1
    done | awk '{ print $1 + $2 }' | sort -n | head -n 1
}
args=(matmul --m 1024 --n 1024 --k 1024)
plain=$(seconds -- "${args[@]}")
for name in big.json big.json.gz big.pftrace; do
    tap_check "reader/host_time_of_$name" "$(seconds --trace $name -- "${args[@]}" |
        awk -v plain="$plain" '$1 > 1.5 * plain { print $1, "s, without a trace", plain }')"
done
for name in big.json.gz big.pftrace; do
    tap_check "reader/a_million_commands_of_$name" "$(
        awk -v n="$(grep -c '"cmd":' big.json)" -v bytes="$(stat -c %s $name)" \
            'BEGIN { if (n < 1000 || bytes / n >= 100) print bytes, "bytes of", n, "commands" }')"
done

if command -v protoc > /dev/null; then
    protoc --proto_path="$root/tests/qemu/device" --decode=perfetto.protos.Trace perfetto.proto \
        < raw > decoded 2> protoc.err
    tap_check reader/protoc_knows_every_field "$(cat protoc.err
        grep -m3 -E '^ *[0-9]+[:{ ]' decoded
        [ "$(grep -c track_event decoded)" -gt 100 ] || echo 'hardly any event')"
else
    tap_skip reader/protoc_knows_every_field 'no protoc: apt-get install protobuf-compiler'
fi

cat > read.mjs << 'END'
import fs from 'fs';
globalThis.DOMRect = class { constructor(x, y, w, h) { Object.assign(this, { x, y, w, h }); } };
const { TraceModel } = await import('@paulirish/trace_engine');
const { traceEvents } = JSON.parse(fs.readFileSync(process.argv[2]));
const model = TraceModel.Model.createWithAllHandlers();
await model.parse(traceEvents, {});
const { Meta } = model.parsedTrace(0).data;
const names = [...Meta.processNames.values()].map(e => e.args.name).sort();
const threads = [...Meta.threadsInProcess.values()].flatMap(t => [...t.values()])
    .map(e => e.args.name);
if (!/^chip[^,]*,core 0,hart,tasks$/.test(names.join())) console.log('processes', names);
for (const name of ['MTE1', 'MTE2', 'M', 'FIX', 'hart', 'ranges'])
    if (!threads.includes(name)) console.log('no thread', name, threads);
END
if command -v npm > /dev/null && timeout 120 npm install --no-audit --no-fund --ignore-scripts \
    @paulirish/trace_engine@0.0.65 > npm.log 2>&1; then
    tap_check reader/chrome_reads_it "$(node read.mjs t.json 2>&1 | head -n 5)"
else
    tap_skip reader/chrome_reads_it 'no npm, or no registry for it'
fi

# Of a trace on its command line Speedscope's own script makes a script that the page loads.
if command -v chromium npm > /dev/null && timeout 120 npm install --no-audit --no-fund \
    --ignore-scripts speedscope@1.25.0 > npm.log 2>&1; then
    gzip -k t.json # as make profile leaves it
    printf 'speedscope.loadFileFromBase64("t.json.gz", "%s")' "$(base64 -w0 t.json.gz)" > load.js
    page=$PWD/node_modules/speedscope/dist/release/index.html
    timeout 120 chromium --headless=new --no-sandbox --enable-unsafe-swiftshader \
        --allow-file-access-from-files --virtual-time-budget=15000 --user-data-dir="$PWD/profile" \
        --dump-dom "file://$page#localProfilePath=$PWD/load.js" 2> chromium.err |
        sed 's/<[^>]*>/\n/g' > listed
    tap_check reader/speedscope_lists_its_tracks "$(/usr/bin/python3 - t.json << 'END'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {(e["pid"], e.get("tid"), e["name"]): e["args"]["name"] for e in events
         if e["ph"] == "M" and e["name"].endswith("_name")}
listed = open("listed").read()
for pid, tid in sorted({(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}):
    track = (f"{names[pid, 0, 'process_name']} (pid {pid}), "
             f"{names[pid, tid, 'thread_name']} (tid {tid})")
    if track not in listed:
        print("not listed:", track)
END
    )"
else
    tap_skip reader/speedscope_lists_its_tracks 'no chromium or npm, or no registry for it'
fi
tap_done
