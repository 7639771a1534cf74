/* Starts a program on a Cortex-M4 (QEMU's mps2-an386): the vector table, and the FPU switched on.
   Input and output go through semihosting (newlib's rdimon). */
extern void _start(void);

static void reset(void)
{
    *(volatile unsigned *)0xE000ED88 |= 0xFu << 20; /* CPACR: full access to CP10 and CP11 */
    _start();
    for (;;) {
    }
}

static void fault(void)
{
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))0x20400000, reset, fault, fault, fault, fault, fault,
};
