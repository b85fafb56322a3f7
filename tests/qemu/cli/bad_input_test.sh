#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bad_input_test.sh    whatever a user gets wrong is refused
#
# With one line that names the file and the reason, exit status 2, no output left behind,
# and an older output as it was. TAP on stdout.
set -u
. "$(dirname "$0")/../cli.sh"

names=() patterns=() commands=()

# refuse NAME PATTERN ARGUMENT...    as refused, of an operator; in one boot with others, once
# there are enough of them or `refuse_all` says so
refuse()
{
    names+=("$1") patterns+=("$2") commands+=("${@:3}" +)
    [ ${#commands[@]} -lt 200 ] || refuse_all # of HOST_ARGS_MAX
}

refuse_all()
{
    local before n lines shared reason

    before=$(files)
    salai "${commands[@]:0:${#commands[@]}-1}"
    mapfile -t lines < "$log/err"
    shared=$(
        has_status 2
        [ ${#lines[@]} -eq ${#names[@]} ] ||
            echo "${#lines[@]} lines on stderr, want ${#names[@]}: ${lines[*]}"
        diff <(echo "$before") <(files) | sed -n 's/^[<>]/files changed:&/p'
    )
    for n in "${!names[@]}"; do
        reason=$shared
        [[ ${lines[n]:-} =~ ${patterns[n]} ]] ||
            reason+="no '${patterns[n]}' in '${lines[n]:-}'"
        tap_check "${names[n]}" "$reason"
    done
    names=() patterns=() commands=()
}

# With an output that is new and with one that is there.
refuse_output()
{
    refuse "$1/no_output" "$2" "${@:3}" -o new.npy
    refuse "$1/old_output" "$2" "${@:3}" -o old.npy
}

# First operands that matmul must refuse, and why, as a pattern.
wrong_files=(
    'missing.npy|no such file or directory'
    'no such directory/a.npy|no such file or directory'
    'directory.npy|directory'
    'empty.npy|empty'
    '5 bytes.npy|not a .npy file'
    '9 bytes.npy|not a .npy file'
    '11 bytes of version 2.npy|ends within its header'
    'half a header.npy|ends within its header'
    'header only.npy|truncated: 0 bytes of data, the header says 48'
    'short.npy|truncated: 47 bytes'
    'long.npy|too long: 49 bytes'
    'text.npy|not a .npy file'
    'magic.npy|not a .npy file'
    'version 4.npy|version 4'
    'no dictionary.npy|no dictionary'
    'float64.npy|a is float64, want float16 or int8'
    'bool.npy|a is bool, want float16 or int8'
    'uint16.npy|a is uint16, want float16 or int8'
    'uint32.npy|a is uint32, want float16 or int8'
    'uint64.npy|a is uint64, want float16 or int8'
    'complex64.npy|a is complex64, want float16 or int8'
    'complex128.npy|a is complex128, want float16 or int8'
    'big-endian.npy|a is big-endian float16, want float16 or int8'
    'big-endian unsigned.npy|a is big-endian uint32, want float16 or int8'
    'object.npy|a is object, want float16 or int8'
    'structured.npy|a is a structured type, want float16 or int8'
    'int32.npy|a is int32, want float16 or int8'
    'fortran.npy|Fortran'
    '1-d.npy|a is \(4,\), want \(m, k\)'
    '3-d.npy|a is \(1, 4, 6\), want \(m, k\)'
    '9-d.npy|more than 8 dimensions'
    'no rows.npy|a is \(0, 6\), which is no elements'
    'no columns.npy|a is \(4, 0\), which is no elements'
)

bad_files()
{
    local entry file why

    cp a.npy old.npy
    for entry in "${wrong_files[@]}"; do
        file=${entry%%|*}
        why=${entry#*|}
        refuse_output "matmul/${file%.npy}" "$file.*($why)" matmul "$file" b.npy
    done
    refuse_output matmul/second_missing 'missing.npy.*no such file' matmul a.npy missing.npy
    refuse_output matmul/second_short 'short.npy.*truncated' matmul b.npy short.npy
    refuse_output matmul/mixed_types \
        'int8.npy: b is int8, want float16 with a.npy' matmul a.npy int8.npy
    refuse_output matmul/mixed_floats \
        'b.npy: b is float16, want float32 with float32.npy' matmul float32.npy b.npy
    refuse_output matmul/second_complex \
        'complex64.npy: b is complex64, want float16 with a.npy' matmul a.npy complex64.npy
    refuse_output matmul/wrong_k '5x5.npy: b is \(5, 5\), but k is 6 by a.npy' \
        matmul a.npy 5x5.npy
    refuse_output vadd/missing 'missing.npy.*no such file' vadd a.npy missing.npy
    refuse_output vadd/shapes 'b.npy: y is \(6, 4\), but the shape is \(4, 6\) by a.npy' \
        vadd a.npy b.npy
    refuse_output vadd/rank '1-d.npy: y is \(4,\), but the shape is \(4, 6\) by a.npy' \
        vadd a.npy 1-d.npy
    refuse_output vadd/types 'float32.npy: y is float32, want float16 with a.npy' \
        vadd a.npy float32.npy
    refuse_output vadd/int8 'int8.npy: x is int8, want float32 or float16' \
        vadd int8.npy int8.npy
    refuse_output vadd/no_elements 'no rows.npy: x is \(0, 6\), which is no elements' \
        vadd 'no rows.npy' 'no rows.npy'
    refuse_all
}

bad_outputs()
{
    local both=(matmul a.npy b.npy -o)

    refused output/missing_directory 'none/c.npy.*no such file' "${both[@]}" none/c.npy
    tap_check output/refused_before_the_run "$(cat "$log/out")"
    refused output/file_as_directory 'a.npy/c.npy.*not a directory' "${both[@]}" a.npy/c.npy
    refused output/directory 'directory.npy: is a directory' "${both[@]}" directory.npy
    if mknod null c 1 3 2> /dev/null; then
        salai "${both[@]}" null
        tap_check output/device_stays_a_device "$([ -c null ] || ls -l null)"
        rm -f null
    else
        tap_skip output/device_stays_a_device "no device can be made"
    fi
    if [ -c /dev/full ]; then
        timeout 20 "$SALAI" help 2> "$log/err" > /dev/full
        status=$?
        tap_check output/full_stdout "$(has_status 2; one_line; says err 'output')"
    else
        tap_skip output/full_stdout "no /dev/full"
    fi
    mkdir "$work/disk"
    if unshare -rm mount -t tmpfs none "$work/disk" 2> /dev/null; then
        tap_check output/full_disk "$(
            unshare -rm bash "$root/tests/qemu/cli/bad_input_test.sh" full_disk "$work" 2>&1 ||
                echo "ended with status $?"
        )"
    else
        tap_skip output/full_disk "no tmpfs can be mounted"
    fi
}

# Results of 40 KB and of 176 bytes onto a disk of 16 KB, empty or full, beside an
# older output. Runs as a program of its own with mounts of its own, which end with it;
# prints only reasons.
full_disk()
{
    local big=$1/files/big.npy

    log=$1/log
    tap_check() { [ -z "$2" ] || echo "$1: $2"; }
    mount -t tmpfs -o size=16k none "$1/disk" && cd "$1/disk" || return
    cp ../files/a.npy old.npy
    refused old '^vadd: old.npy: .*disk full' vadd "$big" "$big" -o old.npy
    refused new '^vadd: new.npy: .*disk full' vadd "$big" "$big" -o new.npy
    head -c 16384 /dev/zero > filler 2> /dev/null
    refused header '^vadd: new.npy: ' vadd old.npy old.npy -o new.npy
}

bad_options()
{
    local sizes=(--m 3 --n 3 --k 3)

    refuse option/unknown 'matmul: no option --bogus' matmul a.npy b.npy --bogus 3
    refuse option/unknown_short "vadd: no option -x; 'help vadd' lists them" vadd a.npy a.npy -x
    refuse option/without_value '-o wants a value' matmul a.npy b.npy -o
    refused option/without_value_before_plus '-o wants a value' matmul a.npy b.npy -o + empty
    refuse option/zero '--m 0: want a number' matmul --m 0 --n 3 --k 3
    refuse option/negative '--m -1: want a number' matmul --m -1 --n 3 --k 3
    refuse option/too_large '--m 2147483648: want' matmul --m 2147483648 --n 3 --k 3
    refuse option/far_too_large '--n 9{30}: want' vadd --n 999999999999999999999999999999
    refuse option/not_a_number '--k 3x: want' matmul --m 3 --n 3 --k 3x
    refused option/empty_number '--m : want' matmul --m '' --n 3 --k 3
    refuse option/too_many_cores '--cores 2: want.* 1 to 1' matmul "${sizes[@]}" --cores 2
    refused option/cores_of_chip '--cores 4: want.* 1 to 3' \
        --cores 3 matmul "${sizes[@]}" --cores 4
    refuse option/type '--type f64: a is f16 or s8' matmul "${sizes[@]}" --type f64
    refuse option/type_of_the_second '--type f16: b is s8 or u8' matmul "${sizes[@]}" --type u8,f16
    refuse option/types_of_too_many 'u8,u8,u8: too many' \
        matmul "${sizes[@]}" --type u8,u8,u8
    refuse option/out '--out s32: c is f32 or f16' matmul a.npy b.npy --out s32 -o new.npy
    refuse option/out_of_int8 '--out f32: c is s32 or f16' matmul "${sizes[@]}" --type s8 --out f32
    refuse option/memory '(memory|MEM)' vadd --n 4294967295
    refuse option/type_with_files '--type is for made-up data' matmul a.npy b.npy --type f16
    refuse option/type_with_texts '--type is for made-up data' mla_prolog --text --type f16
    refuse option/type_without_sizes 'want 3 .npy files .*, or --m' mla_prolog --type f16
    refuse option/data_with_files '--data is for made-up data' matmul a.npy b.npy --data range
    refuse option/repeat_of_pieces 'no option --repeat' mla_prolog "${sizes[@]}" --repeat 2
    refuse option/sizes_with_files '--k is for made-up data' matmul a.npy b.npy --k 6
    refuse option/two_results '-o two: z goes to one already' vadd a.npy a.npy -o one -o two
    refuse option/data '--data odd: want range.special' vadd --n 5 --data odd
    refuse option/of_another 'vadd: no option --no-separate' vadd --n 5 --no-separate
    refuse option/underscore 'no option --no_separate' mla_prolog --no_separate
    refuse option/single_dash 'no option -n' vadd -n 5
    refuse files/three 'one file too many: fortran.npy' matmul a.npy b.npy fortran.npy
    refuse files/one 'want 2 .npy files \(a, b\), or --m, --k and --n' matmul a.npy -o new.npy
    refuse files/none 'want 2 .npy files' matmul -o new.npy
    refuse files/none_vadd 'want 2 .npy files \(x, y\), or --n$' vadd
    refuse_all
    refused operator/unknown "no operator 'nonsense'" nonsense a.npy
    refused operator/unknown_help "no operator 'nonsense'" help nonsense
    refused operator/help_of_two "one NAME at most: --json" help vadd --json
    refused operator/nothing_after_plus "nothing before or after" empty +
    refused operator/empty_name "no operator ''" ''
    refused launcher/unknown 'salai: --bogus: no such option' --bogus empty
    refused launcher/without_value 'salai: --cores needs a value' --cores
    refused launcher/cores 'cores.*33.*1.*32' --cores 33 empty
    refused launcher/cores_zero 'cores.*0.*1.*32' --cores 0 empty
    refused launcher/cores_no_number 'cores.*x.*1.*32' --cores x empty
    refused launcher/profile 'profile.*b3.*a2, ascend910' --profile b3 empty
    refused launcher/timing 'timing=v9: v1 and v2' --timing v9 empty
    refused launcher/seed 'seed=x: 0..4294967295' --seed x empty
    refused launcher/seed_negative 'seed=-1: 0..4294967295' --seed -1 empty
    refused launcher/seed_too_large 'seed=4294967296: 0..' --seed 4294967296 empty
    refused launcher/memory '1x' --mem 1x empty
}

# Of an operator with two.
bad_results()
{
    local ends=(--image "$TEST_IMAGE" ends --n 5 -o)

    refused result/without_name 'ends: -o h.npy: which result\? -o head=h.npy$' \
        "${ends[@]}" h.npy
    refused result/unknown 'ends: -o tial=t.npy: no result tial; the nearest is tail$' \
        "${ends[@]}" tial=t.npy
    refused result/twice 'ends: -o head=two: head goes to one already$' \
        "${ends[@]}" head=one -o head=two
    refused result/two_to_one_path 'ends: c.npy: another output of this run goes there$' \
        "${ends[@]}" head=c.npy -o tail=c.npy
    ln -s . here
    refused result/two_to_one_place 'ends: here/c.npy: another output of this run' \
        "${ends[@]}" head=c.npy -o tail=here/c.npy
    rm here
}

bad_convolutions()
{
    local sizes=(conv2d --n 1 --h 8 --w 9 --c 4 --o 6 --kh 3 --kw 3)

    refuse conv2d/channels 'weight has 3 channels, want the 4 of x / 1 groups' "${sizes[@]}" --i 3
    refuse conv2d/groups '4 groups of 4 channels in, 6 out' "${sizes[@]}" --i 1 --groups 4
    refuse conv2d/cut_words 'no cut: n64x' "${sizes[@]}" --i 4 --cut n64x
    refuse conv2d/cut_size 'more than its sizes or local memories allow: r9' "${sizes[@]}" --i 4 \
        --pad 1 --cut r9
    refuse conv2d/filter 'along h: the filter.s extent of 9 is more than 8' "${sizes[@]}" --i 4 \
        --dilation 4
    refuse conv2d/pads 'along w: pads 1, 3 leave windows without x' "${sizes[@]}" --i 4 --pad 1 \
        --pad-right 3
    refuse conv2d/tile 'a filter of 60 x 60 is too large for the smallest tile' conv2d --n 1 \
        --h 60 --w 60 --c 1 --o 1 --kh 60 --kw 60 --i 1
    sizes=(conv_transpose "${sizes[@]:1}")
    refuse conv_transpose/channels 'weight has 3 channels, want the 4 of x / 1 groups' \
        "${sizes[@]}" --i 3
    refuse conv_transpose/groups '4 groups of 4 channels in, 6 out' "${sizes[@]}" --i 1 --groups 4
    refuse conv_transpose/nothing 'along h: y would have -6' "${sizes[@]}" --i 4 --pad 8
    refuse conv_transpose/output_padding 'along h: an output padding of 2, not below the stride' \
        "${sizes[@]}" --i 4 --stride 2 --output-pad 2
    refuse conv_transpose/reach 'windows reach more than 255 beyond x' "${sizes[@]}" --i 4 \
        --dilation 128
    refuse conv_transpose/type '--type u8: x is f16 or s8' "${sizes[@]}" --i 4 --type u8
    refuse_all
}

bad_attention()
{
    local self=(self_attention --shapes 1x4x8,8x48) cross=(cross_attention --shapes)

    refuse attention/columns '49 columns are not those of q, k and v of 1 heads' \
        self_attention --shapes 1x4x8,8x49
    refuse attention/heads '48 columns are not those of q, k and v of 3 heads' "${self[@]}" \
        --heads 3
    refuse attention/bias 'bias is .47,., but p is 48' self_attention \
        --shapes 1x4x8,8x48,47
    refuse attention/keys 'want 32 columns of k and v' "${cross[@]}" 1x4x8,1x5x6,8x16,6x31
    refuse attention/width '4 keys want 2060 KiB of UB' self_attention --shapes 1x4x8,8x12288
    refuse attention/drop 'drop 1: want a number from 0 to 0.999' "${self[@]}" --drop 1
    refuse attention/scale 'scale nan: want a number' "${self[@]}" --scale nan
    refuse_all
}

bad_moves()
{
    local x=(--shapes 2x3x4)

    refuse transpose/twice 'transpose: --perm 0,0,1: want each of 0 to 2 once' transpose "${x[@]}" \
        --perm 0,0,1
    refuse transpose/too_few '--perm 1,0: want 3 numbers with commas' transpose "${x[@]}" --perm 1,0
    refuse transpose/no_number '--perm a,0,1: want 3 numbers' transpose "${x[@]}" --perm a,0,1
    refuse slice/nothing 'slice: dimension 1: nothing from 2 to 2 in steps of 1' slice "${x[@]}" \
        --starts 0,2,0 --stops 2,2,4
    refuse slice/backwards 'nothing from 0 to 2 in steps of -1' slice "${x[@]}" --steps -1,1,1
    refuse pad/negative 'pad: dimension 2: pads of 0 and -1' pad "${x[@]}" --after 0,0,-1
    refuse expand/none 'expand: --repeats 1,0,1: want numbers from 1 up' expand "${x[@]}" \
        --repeats 1,0,1
    refuse concat/rows 'concat: ' concat --shapes 2x3x4,5x3x4
    refuse depth_to_space/channels '6 channels are no multiple of 2 x 2' depth_to_space --n 1 \
        --h 1 --w 1 --c 6
    refuse space_to_depth/pixels '3 x 4 pixels are no multiple of 2' space_to_depth --n 1 --h 3 \
        --w 4 --c 1
    refuse max_pool/pads 'max_pool: pads of 2, 2, 2, 2 leave windows of 2 x 2 without x' max_pool \
        --n 1 --h 4 --w 4 --c 1 --pad 2
    refuse max_pool/window 'a window of 5 x 5 over 4 x 9 with its pads' max_pool --n 1 --h 4 \
        --w 9 --c 1 --kernel 5
    refuse avg_pool/wide 'a window of 1 x 481 over 1 x 600 with its pads; at most 480 wide' \
        avg_pool --n 1 --h 1 --w 600 --c 1 --kernel 1 --kernel-w 481
    refuse avg_pool/type '--type s32: x is f16 or f32' avg_pool --n 1 --h 4 --w 4 --c 1 --type s32
    refuse_all
}

bad_indices()
{
    /usr/bin/python3 -c "import numpy as np
np.save('map.npy', np.zeros((2, 3), np.float32)); np.save('byte.npy', np.zeros(2, np.uint8))
np.save('two.npy', np.zeros(2, np.int32))
for name, index in (('far', [[0, 1], [-4, 0]]), ('long', [[0, 2**31]]), ('row', [[0, 1]]),
                    ('both', [[1, 2], [0, 3]])):
    np.save(name + '.npy', np.array(index))"
    refuse gather/index 'gather: index \(1, 0\) is -4, want -3 to 2' gather map.npy far.npy \
        --axis 1 -o new.npy
    refuse gather/no_int32 'gather: long.npy: 2147483648 at 1 is no int32' gather map.npy long.npy
    refuse gather/axis 'gather: --axis 2 of 2 dimensions' gather map.npy far.npy --axis 2
    refuse gather/dimensions 'y would have 9 dimensions; 8 are the most' gather \
        --shapes 1x1x1x1x1x1x1x1,1x1
    refuse gather/what 'gather: want 2 .npy files \(x, index\), or --shapes' gather
    refuse gather_elements/shape 'gather_elements: index \(1, 2\) does not go with x \(2, 3\)' \
        gather_elements map.npy row.npy --axis 1
    refuse gather_nd/index 'gather_nd: index \(1, 1\) is 3, want -3 to 2' gather_nd map.npy \
        both.npy
    refuse gather_nd/batch 'index \(2, 2\) does not go with x \(2, 3\)' gather_nd map.npy \
        both.npy --batch 1
    refuse scatter_elements/u 'scatter_elements: u \(2, 3\) does not go with x \(2, 3\)' \
        scatter_elements map.npy far.npy map.npy --axis 1
    sizes=(matmul_q --m 3 --n 3 --k 3)
    refuse matmul_q/rounding_alone '--rounding onnx wants --exact' "${sizes[@]}" --rounding onnx
    refuse matmul_q/bytes_without_a_sign 'u8 wants --exact --rounding onnx' "${sizes[@]}" --type u8
    refuse matmul_q/zero '--zero above 127 is of u8' "${sizes[@]}" --zero 128
    refuse matmul_q/scale 'scales\[[0-9]*\] is no number' "${sizes[@]}" --exact --rounding onnx \
        --data lowest --scale 1e10
    refuse matmul_q/halves 'whole numbers, not f16' "${sizes[@]}" --out f16 --exact --rounding onnx
    refuse scatter_elements/reduce 'scatter_elements: --reduce add of U8' scatter_elements \
        byte.npy two.npy byte.npy --reduce add
    refuse scatter_nd/u 'scatter_nd: u \(2, 3\) does not go with x \(2, 3\)' scatter_nd map.npy \
        far.npy map.npy
    refuse top_k/k 'top_k: --k 4 of 3' top_k map.npy --k 4
    refuse top_k/type 'two.npy: x is int32, want float32 or float16' top_k two.npy
    refuse sort/axis 'sort: --axis -3 of 2 dimensions' sort map.npy --axis -3
    refuse_all
}

bad_texts()
{
    refused demo/missing_text 'demo: missing text: no such file' demo 'missing text'
    refused demo/short_text 'demo: 5 bytes.npy has fewer than' demo '5 bytes.npy'
}

if [ $# -eq 2 ] && [ "$1" = full_disk ]; then
    full_disk "$2"
    exit
fi
work_begin bad_input
"$here/golden.py" make-bad || exit 1
bad_files
bad_outputs
bad_options
bad_results
bad_convolutions
bad_attention
bad_moves
bad_indices
bad_texts
tap_done
